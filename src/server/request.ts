import {
  type AuthInfo,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCRequest,
  LOG_LEVEL_META_KEY,
  type MessageExtraInfo,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, metaOf } from "../generation/message.ts";
import type { RequestSpan, TaskTraces } from "../runtime/telemetry/telemetry.ts";
import {
  type CallerDetails,
  type Origin,
  type ReceivedPart,
  type TraceContext,
  traceContextIn,
} from "../task/record.ts";
import { type Capabilities, completeResult, wireError } from "../generation/2026-07-28.ts";
import type { JsonRpcError, Outcome } from "../task/outcome.ts";
import type { ReserveMemory } from "../store/store.ts";
import type { ServerEvents } from "../runtime/events/server-events.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { OnError } from "./faults.ts";
import type { Registry } from "../runtime/tool/registry.ts";
import { encodeJson } from "../task/stored-text.ts";
import type { LogLevel } from "../task/task-line.ts";
import { taskCaller, type TaskCaller } from "../runtime/tool/task-caller.ts";
import { isReader, type ReceivedRequest, storedMetaKeys } from "../runtime/tool/received-request.ts";
import type { Tool } from "../runtime/tool/tool.ts";

/** The parts of a request's answer that its trace records. */
type TracedAnswer =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message: string } }
  | TextAnswer;

/** The tool of a call that is unknown until the author's server has answered. */
interface UnknownTool {
  readonly name: string;
  readonly learned: () => boolean;
}

export interface RequestTraceSetup {
  readonly span: RequestSpan;
  readonly traces: TaskTraces;
  readonly isCall: boolean;
  readonly unknownTool: UnknownTool | undefined;
}

/** The span of one request, from its dispatch to its answer. None if nothing is traced. */
export class RequestTrace {
  readonly #setup: RequestTraceSetup;

  constructor(setup: RequestTraceSetup) {
    this.#setup = setup;
  }

  /** The trace context for everything that the request causes. */
  get context(): TraceContext | undefined {
    return this.#setup.span.context;
  }

  /** Calls `work`; its spans become children of the request's span. */
  run<T>(work: () => T): T {
    return this.#setup.span.run(work);
  }

  /** The request with the context of its span in its `_meta`, for all who handle it. */
  traced<R extends Pick<JSONRPCRequest, "params">>(request: R): R {
    return this.context === undefined ? request : { ...request, params: this.paramsOf(request.params) };
  }

  /** Its params with the same. */
  paramsOf(params: unknown): JsonObject {
    const given = isJsonObject(params) ? params : {};
    if (this.context === undefined) return given;
    const { traceparent: _, tracestate: __, ...others } = metaOf(given);
    return { ...given, _meta: { ...others, ...this.context } };
  }

  /** The request was about this task, which its sender may see. */
  about(task: string): void {
    const { span, traces } = this.#setup;
    span.about({ id: task, trace: traces.of(task) });
  }

  answered(answer: TracedAnswer): void {
    const { span, isCall, unknownTool } = this.#setup;
    if ("error" in answer) {
      const { code, message } = answer.error;
      span.end({ code, message });
      return;
    }
    const isToolError =
      isCall && "result" in answer && "isError" in answer.result && answer.result.isError === true;
    const tool = unknownTool?.learned() === true ? unknownTool.name : undefined;
    span.end({ isToolError, ...(tool !== undefined && { tool }) });
  }

  /** It will not be answered: its client cancelled it, or is gone. */
  cancelled(): void {
    this.#setup.span.end({ isCancelled: true });
  }
}

/** What a request is answered with on the wire. */
export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/** A result as JSON text, which is not parsed if it can be sent as it is. */
export interface TextAnswer {
  readonly resultText: string | JsonWithBytes;
}

/** A tool's outcome as the direct answer to its call. */
export function answerOf({ kind, body }: Outcome): Answer {
  const parsed: unknown = JSON.parse(body);
  if (kind === "error") return { error: parsed as JsonRpcError };
  return { result: isJsonObject(parsed) ? parsed : {} };
}

/** The same for 2026-07-28, where each result says whether it is complete: equal to the result that a task would contain. */
export function completeAnswerOf(outcome: Outcome): Answer {
  const answer = answerOf(outcome);
  return "result" in answer ? { result: completeResult(answer.result) } : { error: wireError(answer.error) };
}

/** What an object that `createTasks` returned consists of. */
export interface InsideTasks {
  readonly runtime: Runtime;
  readonly onError: OnError;
  readonly events: ServerEvents | undefined;
}

/** For what looks into them from outside a server. */
const insides = new WeakMap<object, InsideTasks>();

export function keepInside(tasks: object, inside: InsideTasks): void {
  insides.set(tasks, inside);
}

/** Undefined for an object that is something else. */
export function insideOf(tasks: object): InsideTasks | undefined {
  return insides.get(tasks);
}

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
  /** For what is read for its answer; left out if nothing counts that. */
  readonly reserve?: ReserveMemory | undefined;
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

/** Those keys of `_meta` that the SDK shows to handlers as the envelope. */
const envelopeKeys: readonly string[] = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
];

/** What the transport knows of a request, for handlers that were written for the SDK. */
export interface TransportInfo {
  readonly authInfo?: AuthInfo | undefined;
  /** Of the session in which it came. */
  readonly sessionId?: string | undefined;
  /** Over HTTP; its body is not looked at. */
  readonly http?: (() => Request | undefined) | undefined;
}

/** Clients choose what is in `_meta`, and it is kept for as long as their tasks last (bytes of JSON). */
const mostMetaBytes = 16_384;

interface OpenRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  readonly transport?: TransportInfo | undefined;
}

/** The parts of a request kept in memory; undefined if the tool's handler does not use them. */
export function receivedBy(tool: Tool | undefined, request: OpenRequest): ReceivedRequest | undefined {
  if (tool === undefined || !isReader(tool.handler)) return undefined;
  const { id, params, transport = {} } = request;
  const { authInfo, sessionId } = transport;
  const all = metaOf(params);
  const isCut = Buffer.byteLength(JSON.stringify(all)) > mostMetaBytes;
  const entries = Object.entries(all).filter(([key, value]) => !isCut || isShort(key, value));
  const meta = entries.filter(([key]) => !envelopeKeys.includes(key));
  const envelope = entries.filter(([key]) => envelopeKeys.includes(key));
  const http = transport.http?.();
  return {
    id,
    ...(meta.length > 0 && { meta: Object.fromEntries(meta) }),
    ...(envelope.length > 0 && { envelope: Object.fromEntries(envelope) }),
    ...(isCut && { isCut }),
    ...(sessionId !== undefined && { sessionId }),
    ...(authInfo !== undefined && { authInfo }),
    ...(http !== undefined && {
      http: new Request(http.url, { method: http.method, headers: http.headers }),
    }),
  };
}

/** What is stored anyway, unless it is what is large. */
function isShort(key: string, value: unknown): boolean {
  return storedMetaKeys.includes(key) && String(value).length <= 1_000;
}

/** Which parts of it a later process will not have. */
function unstoredParts({
  meta = {},
  envelope,
  isCut = false,
  sessionId,
  authInfo,
  http,
}: ReceivedRequest): ReceivedPart[] {
  const hasMore = isCut || Object.keys(meta).some((key) => !storedMetaKeys.includes(key));
  return [
    ...(hasMore ? (["_meta"] as const) : []),
    ...(isCut || envelope !== undefined ? (["envelope"] as const) : []),
    ...(sessionId !== undefined ? (["sessionId"] as const) : []),
    ...(http !== undefined || authInfo !== undefined ? (["http"] as const) : []),
  ];
}

/** A JSON text of which a part is bytes in base64: it is written piece by piece, and is never in memory as a whole. */
export class JsonWithBytes {
  readonly #before: string;
  readonly #data: Buffer;
  readonly #after: string;

  /** The texts around the base64, with its quotes. */
  constructor(before: string, data: Buffer, after: string) {
    this.#before = before;
    this.#data = data;
    this.#after = after;
  }

  /** The text of `value`, with `data` in the first member "blob", which is empty in it. */
  static blobIn(value: object, data: Buffer): JsonWithBytes {
    const text = JSON.stringify(value); // quotes inside of texts are escaped: only a member can look like this
    const at = text.indexOf(emptyBlob) + emptyBlob.length - 1;
    return new JsonWithBytes(text.slice(0, at), data, text.slice(at));
  }

  /** The same inside a larger text. */
  within(before: string, after: string): JsonWithBytes {
    return new JsonWithBytes(before + this.#before, this.#data, this.#after + after);
  }

  get bytes(): number {
    const texts = Buffer.byteLength(this.#before) + Buffer.byteLength(this.#after);
    return texts + Math.ceil(this.#data.length / 3) * 4;
  }

  *pieces(): Generator<Uint8Array> {
    yield Buffer.from(this.#before);
    // Texts that are small and short-lived cost V8 least: larger ones outlive a collection, and let its young generation grow.
    for (let at = 0; at < this.#data.length; at += pieceBytes)
      yield Buffer.from(this.#data.toString("base64", at, at + pieceBytes), "latin1");
    yield Buffer.from(this.#after);
  }

  toString(): string {
    return `${this.#before}${this.#data.toString("base64")}${this.#after}`;
  }
}

const emptyBlob = '"blob":""';

/** A multiple of 3: the base64 of all pieces is that of the whole. */
const pieceBytes = 48 * 1024;
