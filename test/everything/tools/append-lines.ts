import { appendFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Shows in a file which process ran which step, and that none ran twice. */
export function addAppendLines(tasks: Tasks): void {
  tasks.tool(
    "append_lines",
    {
      description: "Appends numbered lines with the server's process id to a file, each in its own step",
      inputSchema: z.object({
        path: z.string().describe("The file to append to"),
        count: z.int().min(0).describe("How many lines"),
        delayMs: z.number().min(0).describe("Pause after each line, in milliseconds"),
      }),
      annotations: { idempotentHint: true },
    },
    async ({ path, count, delayMs }, task) => {
      for (let i = 1; i <= count; i++) {
        let isWritten = false;
        await task.step(["line", i], () => {
          isWritten = true; // a later attempt does not pause for it again
          return appendFile(path, `${i} ${process.pid}\n`);
        });
        if (isWritten) await delay(delayMs, undefined, { signal: task.signal });
      }
      return text(`done ${count}`);
    },
  );
}
