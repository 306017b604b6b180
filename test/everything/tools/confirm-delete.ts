import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Asks its user in the middle of its work; the answer may come days later. */
export function addConfirmDelete(tasks: Tasks): void {
  tasks.tool(
    "confirm_delete",
    {
      description: "Asks the user whether to delete a file and reports the decision. Deletes nothing",
      inputSchema: z.object({ filename: z.string().describe("The file to ask about") }),
      annotations: { idempotentHint: true },
      requires: ["elicitation"],
    },
    async ({ filename }, task) => {
      const { action, content } = await task.elicit("confirm", {
        message: `Delete ${filename}?`,
        requestedSchema: {
          type: "object",
          properties: { confirm: { type: "boolean", title: "Delete it" } },
          required: ["confirm"],
        },
      });
      if (action !== "accept") return text(`Kept ${filename}: the question was answered with ${action}.`);
      return text(content?.["confirm"] === true ? `Would delete ${filename}.` : `Kept ${filename}.`);
    },
  );
}
