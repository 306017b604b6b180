import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Never a task: answered at once, for every client. */
export function addGreet(tasks: Tasks): void {
  tasks.tool(
    "greet",
    {
      description: "Greets somebody by name",
      inputSchema: z.object({ name: z.string().describe("The name to greet") }),
      annotations: { idempotentHint: true },
      task: "forbidden",
    },
    ({ name }) => text(`Hello, ${name}!`),
  );
}
