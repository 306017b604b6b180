import type { Tasks } from "holdfast";
import * as z from "zod";
import { text } from "../text.ts";

/** Asks the client's model. */
export function addAskModel(tasks: Tasks): void {
  tasks.tool(
    "ask_model",
    {
      description: "Sends a prompt to the client's model and returns its answer",
      inputSchema: z.object({ prompt: z.string().describe("What to ask the model") }),
      annotations: { idempotentHint: true },
      requires: ["sampling"],
    },
    async ({ prompt }, task) => {
      const { content } = await task.sample("answer", {
        messages: [{ role: "user", content: { type: "text", text: prompt } }],
        maxTokens: 1_000,
      });
      return text(content.type === "text" ? content.text : `The model answered with ${content.type}.`);
    },
  );
}
