import { inputRequired, type McpServer, type RequestStateCodec } from "@modelcontextprotocol/server";
import { text } from "../../text.ts";
import type { RoundState } from "../request-states.ts";
import { acceptedText } from "./answers.ts";

const tool = "test_input_required_result_multi_round";

const nameStep = inputRequired.elicit({
  message: "Step 1: What is your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
});

const colorStep = inputRequired.elicit({
  message: "Step 2: What is your favorite color?",
  requestedSchema: { type: "object", properties: { color: { type: "string" } }, required: ["color"] },
});

/** The first answer travels to the third round in the state. */
export function addManyRounds(mcp: McpServer, states: RequestStateCodec<RoundState>): void {
  mcp.registerTool(tool, { description: "Asks for a name, and then for a colour" }, async (context) => {
    const { inputResponses, requestState } = context.mcpReq;
    const state = requestState<RoundState>();
    const color = acceptedText(inputResponses, "step2", "color");
    if (state?.tool === tool && state.name !== undefined && color !== undefined) {
      return text(`${state.name} likes ${color}.`);
    }
    const name = state?.name ?? acceptedText(inputResponses, "step1", "name");
    return name === undefined
      ? inputRequired({
          inputRequests: { step1: nameStep },
          requestState: await states.mint({ tool }, context),
        })
      : inputRequired({
          inputRequests: { step2: colorStep },
          requestState: await states.mint({ tool, name }, context),
        });
  });
}
