import { setTimeout as delay } from "node:timers/promises";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** One durable step a second: after a crash, the seconds that are in the journal are not spent again. */
export function addSlowCompute(tasks: Tasks): void {
  tasks.tool(
    "slow_compute",
    {
      description: "Computes for a given number of seconds",
      inputSchema: z.object({
        seconds: z.int().min(0).max(3_600).describe("How long to compute; 0: not at all"),
        label: z.string().describe("Comes back in the result"),
      }),
      annotations: { idempotentHint: true },
    },
    async ({ seconds, label }, task) => {
      for (let second = 1; second <= seconds; second++) {
        await task.step(["second", second], ({ signal }) => delay(1_000, second, { signal }));
      }
      return text(`${label}: computed for ${seconds} s`);
    },
  );
}
