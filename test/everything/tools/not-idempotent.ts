import { appendFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Has neither steps nor a hint that it may run again: after a crash its task fails instead of appending twice. */
export function addNotIdempotent(tasks: Tasks): void {
  tasks.tool(
    "not_idempotent",
    {
      description: "Appends one line to a file, then waits",
      inputSchema: z.object({
        path: z.string().describe("The file to append to"),
        delayMs: z.number().min(0).describe("How long to wait afterwards, in milliseconds"),
      }),
    },
    async ({ path, delayMs }, task) => {
      await appendFile(path, `${process.pid}\n`);
      await delay(delayMs, undefined, { signal: task.signal });
      return text("appended once");
    },
  );
}
