import { setTimeout as delay } from "node:timers/promises";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Reports its progress; clients without progress notifications see it in the status message. */
export function addProgressTo(tasks: Tasks): void {
  tasks.tool(
    "progress_to",
    {
      description: "Counts to a number and reports each one as progress",
      inputSchema: z.object({
        total: z.int().min(1).describe("How far to count"),
        delayMs: z.number().min(0).describe("Pause after each number, in milliseconds"),
      }),
      annotations: { idempotentHint: true },
    },
    async ({ total, delayMs }, task) => {
      for (let i = 1; i <= total; i++) {
        task.progress(i, total, `counted ${i}`);
        // In a step, so that the count continues after a restart.
        await task.step(["pause", i], ({ signal }) => delay(delayMs, i, { signal }));
      }
      return text(`counted to ${total}`);
    },
  );
}
