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
