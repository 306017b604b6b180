import type { AuthInfo, McpRequestContext } from "@modelcontextprotocol/server";
import type { MessageContext } from "../../request.ts";
import type { Admitted } from "../admission.ts";
import type { Outgoing } from "../exchange.ts";
import { type HttpRequest, webOf } from "../http-request.ts";
import type { Sender } from "../identify.ts";

/** An admitted request of an earlier revision. */
export interface Incoming {
  readonly admitted: Admitted;
  readonly request: HttpRequest;
  /** The parsed JSON of a POST; undefined for other methods. */
  readonly body: unknown;
  readonly owner: Sender;
}

/** What serves the requests of earlier revisions. */
export interface EarlierRevisions {
  fetch(incoming: Incoming): Promise<Outgoing>;
  /** Answers a poll of a session at once, if nothing of it needs a look; left out without sessions. */
  poll?(incoming: Incoming): Promise<Outgoing> | undefined;
  /** How many responses stay open until their clients have answered questions, which takes further requests. */
  readonly asking: number;
  /** Ends all streams, in order, and what is in flight. */
  close(): Promise<void>;
}

/** The context that the author's factory gets for a request. */
export function factoryContext({ request, owner }: Incoming): McpRequestContext {
  return { era: "legacy", requestInfo: webOf(request), ...authInfoOf(owner) };
}

/** What a request's handlers learn about it. */
export function extraInfo({ request, owner }: Incoming): MessageContext {
  return {
    request: webOf(request),
    ...authInfoOf(owner),
    ...(owner.auth !== undefined && { auth: owner.auth }),
  };
}

export function authInfoOf({ authInfo }: Sender): { authInfo?: AuthInfo } {
  return authInfo === undefined ? {} : { authInfo };
}
