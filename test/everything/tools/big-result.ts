import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** A result of any size; the server's limit is `maxBodyBytes`. */
export function addBigResult(tasks: Tasks): void {
  tasks.tool(
    "big_result",
    {
      description: "Returns text of a given size",
      inputSchema: z.object({
        bytes: z
          .int()
          .min(0)
          .max(6 * 1024 * 1024)
          .describe("How many bytes of text"),
      }),
      annotations: { idempotentHint: true },
    },
    ({ bytes }) => text("x".repeat(bytes)),
  );
}
