import type { AuthInfo, JSONRPCRequest, McpRequestContext } from "@modelcontextprotocol/server";
import type { MessageContext } from "../../request.ts";
import type { Admitted } from "../admission.ts";
import type { Outgoing } from "../exchange.ts";
import type { Sender } from "../identify.ts";

/** An admitted request of an earlier revision. */
export interface Incoming {
  readonly admitted: Admitted;
  readonly request: Request;
  /** The parsed JSON of a POST; undefined for other methods. */
  readonly body: unknown;
  readonly owner: Sender;
}

/** A session that answers requests about tasks without a stream. */
export interface PolledSession {
  /** Whether `poll` answers a message that came with this version in its header, null for none. */
  takes(message: unknown, version: string | null): message is JSONRPCRequest;
  /** Answers one that it takes, as JSON. */
  poll(message: JSONRPCRequest, admitted: Admitted): Promise<Outgoing>;
}

/** What serves the requests of earlier revisions. */
export interface EarlierRevisions {
  fetch(incoming: Incoming): Promise<Outgoing>;
  /** The principal's session with this id; left out without sessions. */
  find?(id: string, principal: string | null): PolledSession | undefined;
  /** How many responses stay open until their clients have answered questions, which takes further requests. */
  readonly asking: number;
  /** Ends all streams, in order, and what is in flight. */
  close(): Promise<void>;
}

/** The context that the author's factory gets for a request. */
export function factoryContext({ request, owner }: Incoming): McpRequestContext {
  return { era: "legacy", requestInfo: request, ...authInfoOf(owner) };
}

/** What a request's handlers learn about it. */
export function extraInfo({ request, owner }: Incoming): MessageContext {
  return { request, ...authInfoOf(owner), ...(owner.auth !== undefined && { auth: owner.auth }) };
}

export function authInfoOf({ authInfo }: Sender): { authInfo?: AuthInfo } {
  return authInfo === undefined ? {} : { authInfo };
}
