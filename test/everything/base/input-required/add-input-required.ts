import type { McpServer, RequestStateCodec } from "@modelcontextprotocol/server";
import type { RoundState } from "../request-states.ts";
import { addByCapabilities } from "./by-capabilities.ts";
import { addManyRounds } from "./many-rounds.ts";
import { addOneQuestion } from "./one-question.ts";
import { addPromptWithQuestion } from "./prompt-with-question.ts";
import { addSideBySide } from "./side-by-side.ts";
import { addSignedState } from "./signed-state.ts";

/**
 * Tools and a prompt that ask their caller on the call itself, in the SDK's own way: the result says what is needed,
 * and the client calls again with the answers. A task tool does the same by its option `prepare`.
 */
export function addInputRequired(mcp: McpServer, states: RequestStateCodec<RoundState>): void {
  addOneQuestion(mcp);
  addSignedState(mcp, states);
  addSideBySide(mcp, states);
  addManyRounds(mcp, states);
  addByCapabilities(mcp);
  addPromptWithQuestion(mcp);
}
