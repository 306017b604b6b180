import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { addRenderJob, type JobSystem } from "../../examples/job-front/add-render-job.ts";

/** Jobs that never end by themselves, and the calls that come for them. */
function endlessJobs(): {
  readonly system: JobSystem;
  readonly started: string[];
  readonly stopped: string[];
} {
  const started: string[] = [];
  const stopped: string[] = [];
  const system: JobSystem = {
    start: async (token) => {
      if (!started.includes(token)) started.push(token);
      return `job-${started.indexOf(token) + 1}`;
    },
    state: async () => "running",
    stop: async (job) => void stopped.push(job),
  };
  return { system, started, stopped };
}

it.each(["runs", "waits since a crash", "waits since a stop"])(
  "stops its job where the task is cancelled that %s",
  async (when) => {
    const { system, started, stopped } = endlessJobs();
    await using t = await testTasks((tasks) => addRenderJob(tasks, system));
    const task = await t.start("render_job", { report: "q3" });
    await t.clock.advance("7s");
    if (when === "waits since a crash") await t.crash();
    if (when !== "runs") await t.restart();
    expect(stopped).toEqual([]);
    await task.cancel();
    await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
    expect(stopped).toEqual(["job-1"]);
    expect(started).toHaveLength(1);
  },
);

it("follows a job for a week, through a night without its system and a crash, and takes no more room for that", async () => {
  let looks = 0;
  let isDown = false;
  let isDone = false;
  const system: JobSystem = {
    ...endlessJobs().system,
    state: async () => {
      looks++;
      if (isDown) throw new Error("503");
      return isDone ? "succeeded" : "running";
    },
  };
  await using t = await testTasks((tasks) => addRenderJob(tasks, system));
  const task = await t.start("render_job", { report: "q3" });
  await t.clock.advance("3d");
  await t.crash();
  await t.restart();
  isDown = true;
  await t.clock.advance("3h");
  isDown = false;
  await t.clock.advance("4d");
  expect((await task.journal()).map(({ key }) => key)).toEqual(["start", "end"]);
  isDone = true;
  await t.clock.advance("1h");
  expect(await task.result()).toMatchObject({ content: [{ text: "job-1 has rendered q3" }] });
  expect(looks).toBeGreaterThan(150);
});
