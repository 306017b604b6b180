import { inputRequired, type McpServer } from "@modelcontextprotocol/server";
import { acceptedText } from "./answers.ts";

const contextQuestion = inputRequired.elicit({
  message: "What context should the prompt use?",
  requestedSchema: { type: "object", properties: { context: { type: "string" } }, required: ["context"] },
});

/** Prompts can ask as tools do. */
export function addPromptWithQuestion(mcp: McpServer): void {
  mcp.registerPrompt(
    "test_input_required_result_prompt",
    { description: "A prompt that first asks for its context" },
    ({ mcpReq }) => {
      const context = acceptedText(mcpReq.inputResponses, "user_context", "context");
      if (context === undefined) return inputRequired({ inputRequests: { user_context: contextQuestion } });
      return {
        messages: [{ role: "user", content: { type: "text", text: `Use this context: ${context}` } }],
      };
    },
  );
}
