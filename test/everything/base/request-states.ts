import { randomBytes } from "node:crypto";
import { createRequestStateCodec, type RequestStateCodec } from "@modelcontextprotocol/server";

/** What a tool passes from one round to the next: whose state it is, and the answers so far. */
export interface RoundState {
  readonly tool: string;
  readonly name?: string;
}

/**
 * States travel through the client, so they are signed, and bound to the caller. The key is this process's own: a
 * state from before a restart is refused, and its call begins anew.
 */
export function requestStates(): RequestStateCodec<RoundState> {
  return createRequestStateCodec<RoundState>({
    key: randomBytes(32),
    bind: ({ mcpReq, http }) => JSON.stringify([mcpReq.method, http?.authInfo?.clientId]),
  });
}
