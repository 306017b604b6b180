import { once } from "node:events";
import type { Tasks } from "holdfast";

/** Ends only when it is cancelled or its life is over, and then at once. */
export function addNeverEnds(tasks: Tasks): void {
  tasks.tool(
    "never_ends",
    {
      description: "Waits until it is cancelled",
      annotations: { idempotentHint: true },
    },
    async (_args, task) => {
      task.signal.throwIfAborted();
      await once(task.signal, "abort");
      throw task.signal.reason;
    },
  );
}
