import { inputRequired, type McpServer } from "@modelcontextprotocol/server";
import { text } from "../text.ts";
import { capitalQuestion, nameQuestion } from "./input-required/questions.ts";

/** What suites probe on 2026-07-28: capabilities, streams and logging of a single request. */
export function addDiagnosticTools(mcp: McpServer): void {
  mcp.registerTool(
    "test_missing_capability",
    { description: "Needs sampling: a client without it gets an error that says so" },
    ({ mcpReq }) =>
      mcpReq.inputResponses === undefined
        ? inputRequired({ inputRequests: { capital_question: capitalQuestion } })
        : text("The client can sample."),
  );
  mcp.registerTool(
    "test_streaming_elicitation",
    {
      description: "Asks for a name; the question is the result of the call, never a request on its stream",
    },
    async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken !== undefined) {
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
      }
      return mcpReq.inputResponses === undefined
        ? inputRequired({ inputRequests: { user_name: nameQuestion } })
        : text("The question was answered.");
    },
  );
  mcp.registerTool(
    "test_logging_tool",
    { description: "Logs on three levels; the client receives only the levels that it asked for" },
    async ({ mcpReq }) => {
      await mcpReq.log("debug", "a detail");
      await mcpReq.log("info", "a message");
      await mcpReq.log("warning", "a warning");
      return text("Logged three messages.");
    },
  );
}
