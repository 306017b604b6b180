import type { ElicitResult } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { text } from "../text.ts";

/** Two questions that are open at once, answered in any order, together or one by one. */
export function addMultiInput(tasks: Tasks): void {
  tasks.tool(
    "multi_input",
    {
      description: "Asks two questions at once and returns both answers",
      annotations: { idempotentHint: true },
      requires: ["elicitation"],
    },
    async (_args, task) => {
      const [name, confirm] = await Promise.all([
        task.elicit("name", {
          message: "What is your name?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        }),
        task.elicit("confirm", {
          message: "Continue?",
          requestedSchema: {
            type: "object",
            properties: { confirm: { type: "boolean" } },
            required: ["confirm"],
          },
        }),
      ]);
      return text(`name: ${answerText(name, "name")}, confirm: ${answerText(confirm, "confirm")}`);
    },
  );
}

function answerText({ action, content }: ElicitResult, field: string): string {
  return action === "accept" ? String(content?.[field]) : action;
}
