import type { Tasks } from "holdfast";
import * as z from "zod";

/** An existing job system: it creates its own ids, and starts one job for each client token. */
export interface JobSystem {
  start(clientToken: string, report: string): Promise<string>;
  state(job: string): Promise<"running" | "succeeded" | "failed">;
  stop(job: string): Promise<void>;
}

/** A tool whose task represents a job there. */
export function addRenderJob(tasks: Tasks, jobs: JobSystem): void {
  tasks.tool("render_job", { inputSchema: z.object({ report: z.string() }) }, async ({ report }, task) => {
    // The journal keeps the requestor's id and its job until the task is deleted, through crashes too. Requestors may use
    // the same id: together with the task's own id, the token is unique.
    const token = `${task.wireId}/${task.id}`;
    let job: string | undefined;
    try {
      job = await task.step("start", async () => (job = await jobs.start(token, report)));
      await task.status(`job ${job}`);
      const name = job;
      // Soon at first, and every hour in the end, however long the job system is down meanwhile.
      const state = await task.poll(
        "end",
        {
          every: "5s",
          factor: 1.5,
          maxEvery: "1h",
          until: (now) => now !== "running",
          retries: Infinity,
        },
        () => jobs.state(name),
      );
      if (state === "failed") throw new Error(`${name} failed`);
      return `${name} has rendered ${report}`;
    } catch (error) {
      // Also if the task is cancelled after a restart, or while the job was being started.
      if (task.cancelled && job !== undefined) await jobs.stop(job);
      throw error;
    }
  });
}
