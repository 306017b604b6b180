import { setTimeout as delay } from "node:timers/promises";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Ignores its signal: a result within the grace period still counts; after that the task is cancelled without it. */
export function addIgnoresCancel(tasks: Tasks): void {
  tasks.tool(
    "ignores_cancel",
    {
      description: "Ignores a cancel request and returns its result",
      inputSchema: z.object({ ms: z.number().min(0).describe("How long to work, in milliseconds") }),
      annotations: { idempotentHint: true },
    },
    async ({ ms }) => {
      await delay(ms);
      return text(`worked for ${ms} ms`);
    },
  );
}
