import { setTimeout as delay } from "node:timers/promises";
import type { Tasks } from "holdfast";
import { text } from "../text.ts";

/** The tool fails and says so in its result: the task itself completes. */
export function addFailingJob(tasks: Tasks): void {
  tasks.tool(
    "failing_job",
    {
      description: "Works for a second, then reports that it failed",
      annotations: { idempotentHint: true },
      task: "required",
    },
    async (_args, task) => {
      await delay(1_000, undefined, { signal: task.signal });
      return { ...text("The job failed, as it always does."), isError: true };
    },
  );
}
