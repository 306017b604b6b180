import { inputRequired, type McpServer, type RequestStateCodec } from "@modelcontextprotocol/server";
import { text } from "../../text.ts";
import type { RoundState } from "../request-states.ts";
import { acceptedText, rootUris, sampledText } from "./answers.ts";
import { greetingQuestion, nameQuestion, rootsQuestion } from "./questions.ts";

const tool = "test_input_required_result_multiple_inputs";

/** Several questions in one round. */
export function addSideBySide(mcp: McpServer, states: RequestStateCodec<RoundState>): void {
  mcp.registerTool(
    tool,
    { description: "Asks for a name, a greeting and the roots at once" },
    async (context) => {
      const { inputResponses } = context.mcpReq;
      const name = acceptedText(inputResponses, "user_name", "name");
      const greeting = sampledText(inputResponses, "greeting");
      const roots = rootUris(inputResponses, "client_roots");
      if (name !== undefined && greeting !== undefined && roots !== undefined) {
        return text(`${greeting} ${name}, with ${roots.length} roots`);
      }
      return inputRequired({
        inputRequests: { user_name: nameQuestion, greeting: greetingQuestion, client_roots: rootsQuestion },
        requestState: await states.mint({ tool }, context),
      });
    },
  );
}
