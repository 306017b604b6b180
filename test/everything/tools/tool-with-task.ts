import type { Tasks } from "holdfast";
import { text } from "../text.ts";

/** Asks on the call itself, before there is a task; the task finds the answer as `task.prepared`. */
export function addToolWithTask(tasks: Tasks): void {
  tasks.tool(
    "test_tool_with_task",
    {
      description: "Asks for a name, then greets in a task",
      annotations: { idempotentHint: true },
      task: "required",
      requires: ["elicitation"],
      prepare: async (_args, ask) => {
        const { action, content } = await ask.elicit("user_name", {
          message: "What is your name?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        });
        if (action !== "accept") throw new Error("Without a name there is nobody to greet.");
        return { name: String(content?.["name"]) };
      },
    },
    (_args, task) => text(`Hello, ${task.prepared.name}!`),
  );
}
