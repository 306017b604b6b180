import {
  acceptedContent,
  inputRequired,
  type McpServer,
  type RequestStateCodec,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { text } from "../../text.ts";
import type { RoundState } from "../request-states.ts";
import { confirmQuestion } from "./questions.ts";

const answer = z.object({ ok: z.boolean() });

/** State that the client carries; one that it changed is refused before the tool runs. */
export function addSignedState(mcp: McpServer, states: RequestStateCodec<RoundState>): void {
  const tools = {
    test_input_required_result_request_state: "Asks for confirmation, with a signed state",
    test_input_required_result_tampered_state: "Asks for confirmation; a state that was changed is refused",
  };
  for (const [tool, description] of Object.entries(tools)) {
    mcp.registerTool(tool, { description }, async (context) => {
      const { inputResponses, requestState } = context.mcpReq;
      const confirmed = acceptedContent(inputResponses, "confirm", answer);
      if (requestState<RoundState>()?.tool === tool && confirmed !== undefined) return text("state-ok");
      return inputRequired({
        inputRequests: { confirm: confirmQuestion },
        requestState: await states.mint({ tool }, context),
      });
    });
  }
}
