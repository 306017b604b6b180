import type { Tasks } from "holdfast";
import * as z from "zod";

/** A job system that was there before: it makes ids of its own, and starts one job for each client token. */
export interface JobSystem {
  start(clientToken: string, report: string): Promise<string>;
  state(job: string): Promise<"running" | "succeeded" | "failed">;
  stop(job: string): Promise<void>;
}

/** A tool whose task stands for a job there. */
export function addRenderJob(tasks: Tasks, jobs: JobSystem): void {
  tasks.tool("render_job", { inputSchema: z.object({ report: z.string() }) }, async ({ report }, task) => {
    // Which job the requestor's id stands for is in the journal: until the task is deleted, through crashes too. Ids of
    // requestors can be the same: the task's own id beside it makes the token unique.
    const token = `${task.wireId}/${task.id}`;
    let job: string | undefined;
    try {
      job = await task.step("start", async () => (job = await jobs.start(token, report)));
      await task.status(`job ${job}`);
      for (let round = 1; ; round += 1) {
        const state = await jobs.state(job);
        if (state === "succeeded")
          return { content: [{ type: "text", text: `${job} has rendered ${report}` }] };
        if (state === "failed") throw new Error(`${job} failed`);
        await task.sleep(["wait", String(round)], 5_000);
      }
    } catch (error) {
      // Also where the task is cancelled after a restart, and while the job was started.
      if (task.cancelled && job !== undefined) await jobs.stop(job);
      throw error;
    }
  });
}
