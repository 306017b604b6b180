import { inputRequired, type McpServer } from "@modelcontextprotocol/server";
import { text } from "../../text.ts";
import { acceptedText, rootUris, sampledText } from "./answers.ts";
import { capitalQuestion, nameQuestion, rootsQuestion } from "./questions.ts";

/** One question of each kind. The answer is all there is to know, so no state is needed. */
export function addOneQuestion(mcp: McpServer): void {
  mcp.registerTool(
    "test_input_required_result_elicitation",
    { description: "Asks the user for a name, then greets" },
    ({ mcpReq }) => {
      const name = acceptedText(mcpReq.inputResponses, "user_name", "name");
      return name === undefined
        ? inputRequired({ inputRequests: { user_name: nameQuestion } })
        : text(`Hello, ${name}!`);
    },
  );
  mcp.registerTool(
    "test_input_required_result_sampling",
    { description: "Asks the client's model a question, and returns its answer" },
    ({ mcpReq }) => {
      const answer = sampledText(mcpReq.inputResponses, "capital_question");
      return answer === undefined
        ? inputRequired({ inputRequests: { capital_question: capitalQuestion } })
        : text(answer);
    },
  );
  mcp.registerTool(
    "test_input_required_result_list_roots",
    { description: "Asks for the client's roots, and lists them" },
    ({ mcpReq }) => {
      const roots = rootUris(mcpReq.inputResponses, "client_roots");
      return roots === undefined
        ? inputRequired({ inputRequests: { client_roots: rootsQuestion } })
        : text(`Roots: ${roots.join(", ")}`);
    },
  );
}
