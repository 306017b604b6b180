import type { Capabilities } from "../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject, metaOf } from "../generation/message.ts";
import type { MessageExtraInfo } from "@modelcontextprotocol/server";
import type { Registry } from "../runtime/tool/registry.ts";
import { taskCaller, type TaskCaller } from "../runtime/tool/task-caller.ts";
import { receivedBy, unstoredParts, type TransportInfo } from "./received.ts";
import { encodeJson } from "../task/stored-text.ts";
import { type CallerDetails, type Origin, traceContextIn } from "../task/record.ts";
import type { LogLevel } from "../task/task-line.ts";
import type { RequestTrace } from "./tracing/request-trace.ts";

/** What the sender of a request may do, if its token limits that. */
export interface Access {
  /** The scopes of the token. */
  readonly scopes: readonly string[];
  /** The scopes that a call of the tool needs, besides those that every request needs. */
  neededFor(tool: string): readonly string[];
  /** The names of tools whose calls need scopes, whether or not these tools exist yet. */
  readonly scopedTools: readonly string[];
}

/** What authentication returned about a sender besides its principal. */
export interface AuthContext extends CallerDetails {
  /** For work on the sender's behalf: passed to handlers, and never stored. */
  readonly credentials?: unknown;
}

/** What transports report about a message beyond what the SDK knows. */
export interface MessageContext extends MessageExtraInfo {
  readonly auth?: AuthContext;
}

/** The owner of the tasks that a request is about. */
export interface Owner {
  /** Null if the server does not tell callers apart. */
  readonly principal: string | null;
  /** Left out: the principal may do everything. */
  readonly access?: Access;
  readonly auth?: AuthContext;
}

/** The sender of a 2026-07-28 request, and what it declares. */
export interface Caller {
  /** Declared on this very request; empty if it declares none. */
  readonly capabilities: Capabilities;
  /** Null if the server does not tell callers apart, and a task's id is the only key. */
  readonly principal: string | null;
  /** From which level on it wants log messages on the stream of this request; left out: none. */
  readonly logLevel?: LogLevel | undefined;
}

/** A request that we answer, as it came in. */
export interface ToolRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  /** Aborts when the caller cancels the request, or disconnects before the answer. */
  readonly signal: AbortSignal;
  /** What its sender is allowed to do; left out: everything that its principal may. */
  readonly access?: Access | undefined;
  readonly auth?: AuthContext | undefined;
  readonly transport?: TransportInfo | undefined;
  /** Undefined if nothing is traced. */
  readonly trace?: RequestTrace | undefined;
}

/** Under which the sender of a request wants progress; undefined: it wants none. */
export function progressTokenOf(params: JsonObject): string | number | undefined {
  const { progressToken } = metaOf(params);
  return typeof progressToken === "string" || typeof progressToken === "number" ? progressToken : undefined;
}

/**
 * The stored details of a sender. The first attempt gets the claims in the same form as later ones, which read them from the store. Throws
 * `not_json` for what cannot be stored.
 */
function callerDetails(auth: AuthContext | undefined): CallerDetails | undefined {
  if (auth === undefined) return undefined;
  const { credentials: _, claims, ...others } = auth;
  if (claims === undefined) return others;
  const json = encodeJson(claims, "The claims that authenticate returned");
  return { ...others, claims: JSON.parse(json) as JsonObject };
}

/** The sender of a request, as the handler of a tool knows it. */
export function callerOf({ auth }: Pick<ToolRequest, "auth">, principal: string | null): TaskCaller {
  return taskCaller(principal, callerDetails(auth));
}

/** What calls of the tools need, by their names, also of tools that come later: of those that need anything. */
function toolScopesOf(access: Access): NonNullable<Origin["toolScopes"]> {
  const needed = access.scopedTools.map((name) => [name, access.neededFor(name)] as const);
  return Object.fromEntries(needed.filter(([, scopes]) => scopes.length > 0));
}

/** What a task stores of the request that created it, and of the session in which that came. */
export function originOf(
  request: Pick<ToolRequest, "id" | "params" | "auth" | "access" | "transport">,
  capabilities: JsonObject,
  registry: Registry,
  session?: string,
): Origin {
  const { id, params, auth, access } = request;
  const trace = traceContextIn(metaOf(params));
  const progressToken = progressTokenOf(params);
  const caller = callerDetails(auth);
  const toolScopes = access === undefined ? {} : toolScopesOf(access);
  const kept = receivedBy(registry.get(calledTool(params)), request);
  const received = kept === undefined ? [] : unstoredParts(kept);
  return {
    requestId: id,
    capabilities,
    ...(caller !== undefined && { caller }),
    ...(progressToken !== undefined && { progressToken }),
    ...(trace !== undefined && { trace }),
    ...(session !== undefined && { session }),
    ...(received.length > 0 && { received }),
    ...(Object.keys(toolScopes).length > 0 && { toolScopes }),
  };
}

/** The tool that a call names; empty if the name is no string, which the SDK refuses. */
export function calledTool(params: unknown): string {
  const name = isJsonObject(params) ? params["name"] : undefined;
  return typeof name === "string" ? name : "";
}
