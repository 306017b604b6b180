import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type ClientCapabilities,
  type McpServer,
} from "@modelcontextprotocol/server";
import { text } from "../../text.ts";
import { capitalQuestion, nameQuestion } from "./questions.ts";

interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** Asks only what the client declared on this very request that it can answer. */
export function addByCapabilities(mcp: McpServer): void {
  mcp.registerTool(
    "test_input_required_result_capabilities",
    { description: "Asks the user, the model, or both, depending on the client's capabilities" },
    ({ mcpReq }) => {
      if (mcpReq.inputResponses !== undefined) return text("All questions were answered.");
      // The SDK's own type of the envelope does not have its keys.
      const envelope: Envelope | undefined = mcpReq.envelope;
      const { elicitation, sampling } = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
      if (elicitation === undefined && sampling === undefined) return text("The client cannot be asked.");
      return inputRequired({
        inputRequests: {
          ...(elicitation !== undefined && { user_name: nameQuestion }),
          ...(sampling !== undefined && { capital_question: capitalQuestion }),
        },
      });
    },
  );
}
