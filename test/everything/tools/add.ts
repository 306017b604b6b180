import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** The smallest task there is: no step, no wait. */
export function addAdd(tasks: Tasks): void {
  tasks.tool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      annotations: { idempotentHint: true },
    },
    ({ a, b }) => text(String(a + b)),
  );
}
