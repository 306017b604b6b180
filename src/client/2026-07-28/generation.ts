import {
  type JSONRPCMessage,
  type RequestId,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
} from "@modelcontextprotocol/client";
import { declaresTasks, generation } from "../../generation/2026-07-28.ts";
import type { ClientGeneration } from "../generation.ts";
import {
  declaredOnConnect,
  envelope,
  followLines,
  listenToTasks,
  readAcknowledgement,
  readCallAnswer,
  readGetResult,
  withoutTasksOnCall,
} from "./messages.ts";
import { idempotencyMeta, readKeptMs, declaresTaskLines } from "../../generation/extensions.ts";
import type { ClientClock } from "../clock.ts";
import type { InputResult } from "../question/ask-user.ts";
import { type JsonObject, isJsonObject, sameJson } from "../../generation/message.ts";
import { base64 } from "../../generation/base64.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import { readReply, type Reply } from "../reply/reply.ts";
import { withdrawMs, type CallAnswer, type TaskProtocol, type ToolCall } from "../task-protocol.ts";

/** The tasks of the extension on protocol 2026-07-28. */
export const extension: ClientGeneration = {
  options: {},
  mayBindToSession: false,
  declared: declaredOnConnect,
  serverTasks: (server) =>
    declaresTasks(server)
      ? { title: "the extension of 2026-07-28", cancels: true, lists: undefined, listens: true }
      : undefined,
  wrongCall: (inputSchema) =>
    readParamHeaders(inputSchema) === undefined ? "its x-mcp-header is invalid" : undefined,
  prepare: ({ capabilities, clientInfo }) => {
    const headers = new ToolHeaders();
    return {
      rewriteOutgoing: (message) => {
        headers.sent(message);
        return withoutTasksOnCall(message);
      },
      rewriteIncoming: (message) => {
        headers.received(message);
        return message;
      },
      protocol: ({ requester, clock, server }) =>
        new ExtensionProtocol({
          requester,
          clock,
          meta: envelope(capabilities, clientInfo),
          server,
          headers,
        }),
    };
  },
};

interface ExtensionProtocolOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** The `_meta` of every request. */
  readonly meta: JsonObject;
  /** The server's capabilities. */
  readonly server: JsonObject;
  readonly headers: ToolHeaders;
}

/** The extension `io.modelcontextprotocol/tasks` on protocol 2026-07-28. */
export class ExtensionProtocol implements TaskProtocol {
  readonly generation = generation;
  readonly keepsQuestionKeys = true;
  readonly recognisesRepeats: boolean;
  readonly listen?: NonNullable<TaskProtocol["listen"]>;
  readonly followLines: TaskProtocol["followLines"];
  readonly #keptMs: number;
  readonly #services: Pick<ExtensionProtocolOptions, "requester" | "clock">;
  readonly #meta: JsonObject;
  readonly #headers: ToolHeaders;

  constructor({ requester, clock, meta, server, headers }: ExtensionProtocolOptions) {
    this.#services = { requester, clock };
    this.#meta = meta;
    this.#headers = headers;
    // Only a server that declares this extension recognises repeated calls.
    const keptMs = readKeptMs(server, "extensions");
    this.recognisesRepeats = keptMs !== undefined;
    this.#keptMs = keptMs ?? 0;
    this.followLines = declaresTaskLines(server, "extensions")
      ? async (uri, listener, signal) => followLines({ requester, clock, meta }, uri, listener, signal)
      : undefined;
    // Whether the server pushes tasks shows only in its answer.
    if (!declaresTasks(server)) return;
    this.listen = async (taskIds, listener, signal) =>
      listenToTasks({ requester, clock, meta }, taskIds, listener, signal);
  }

  /** The server alone decides how long it keeps a task. */
  recognisedMs(): number {
    return this.#keptMs;
  }

  async call(
    { name, args, idempotencyKey, round, repeat, progressToken, onLate }: ToolCall,
    signal: AbortSignal,
  ): Promise<Reply<CallAnswer>> {
    const params = {
      name,
      arguments: args,
      // requestState only if the server sent one (X-B-009).
      ...(round?.inputResponses !== undefined && { inputResponses: round.inputResponses }),
      ...(round?.requestState !== undefined && { requestState: round.requestState }),
      _meta: {
        ...this.#meta,
        ...(progressToken !== undefined && { progressToken }),
        ...idempotencyMeta(idempotencyKey, repeat),
      },
    };
    const headers = this.#headers.of(name, args);
    const { requester } = this.#services;
    // The server may have made a task by now. Only its answer names it.
    const onReply = (late: Reply<JsonObject>): unknown => {
      const answer = readReply(late, readCallAnswer);
      return answer.kind === "value" ? onLate?.(answer.value) : undefined;
    };
    const afterAbort = { kind: "goes_on", forMs: withdrawMs, onReply } as const;
    const reply = await requester.request("tools/call", params, signal, { headers, afterAbort });
    if (reply.kind !== "error" || reply.error.code !== headerMismatchCode)
      return readReply(reply, readCallAnswer);
    await this.#headers.refresh(async (page) =>
      requestWithTimeout(this.#services, "tools/list", { ...page, _meta: this.#meta }, signal),
    );
    const now = this.#headers.of(name, args);
    if (sameJson(now, headers)) return reply;
    const again = await requester.request("tools/call", params, signal, { headers: now, afterAbort });
    return readReply(again, readCallAnswer);
  }

  async get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const reply = await this.#about("tasks/get", taskId, {}, signal);
    return readReply(reply, (answer) => readGetResult(answer, taskId));
  }

  async answer(
    taskId: string,
    key: string,
    result: InputResult,
    signal: AbortSignal,
  ): Promise<Reply<undefined>> {
    const reply = await this.#about("tasks/update", taskId, { inputResponses: { [key]: result } }, signal);
    return readReply(reply, readAcknowledgement);
  }

  async cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    return readReply(await this.#about("tasks/cancel", taskId, {}, signal), readAcknowledgement);
  }

  async #about(
    method: string,
    taskId: string,
    rest: object,
    signal: AbortSignal,
  ): Promise<Reply<JsonObject>> {
    return requestWithTimeout(this.#services, method, { taskId, ...rest, _meta: this.#meta }, signal);
  }
}

/** The error code for wrong headers. The server has not processed the call. */
export const headerMismatchCode = -32020;

/** A limit for servers whose cursors never end. */
const maxPages = 1_000;

/**
 * The arguments that tools want repeated in headers, learnt from every tool list on this connection. A call of an
 * unlisted tool is sent without headers; the server refuses it if it wants some.
 */
export class ToolHeaders {
  readonly #wanted = new Map<string, readonly ParamHeader[]>();
  /** Ids of the SDK client's `tools/list` requests. */
  readonly #asked = new Set<RequestId>();

  of(tool: string, args: unknown): Record<string, string> {
    return paramHeaders(this.#wanted.get(tool) ?? [], args);
  }

  /** Observes the messages of the SDK's client. */
  sent(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method === "tools/list") this.#asked.add(message.id);
  }

  /** Observes the messages for the SDK's client. */
  received(message: JSONRPCMessage): void {
    if (!isJSONRPCResponse(message) || message.id === undefined || !this.#asked.delete(message.id)) return;
    if (isJSONRPCResultResponse(message)) this.#learn(message.result);
  }

  /** Lists the tools again. If that fails, the known headers stay. */
  async refresh(list: (params: JsonObject) => Promise<Reply<JsonObject>>): Promise<void> {
    let cursor: string | undefined;
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await list(cursor === undefined ? {} : { cursor });
      if (page.kind !== "value") return;
      this.#learn(page.value);
      const { nextCursor } = page.value;
      if (typeof nextCursor !== "string" || nextCursor === cursor) return;
      cursor = nextCursor;
    }
  }

  #learn({ tools }: JsonObject): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools.filter(isJsonObject)) {
      this.#wanted.set(String(tool["name"]), readParamHeaders(tool["inputSchema"]) ?? []);
    }
  }
}

/** A tool's argument that is repeated in a header, so that proxies can route by it. */
export interface ParamHeader {
  readonly header: string;
  /** The path of property names to the argument. */
  readonly path: readonly string[];
}

/** A token of RFC 9110. */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const annotation = "x-mcp-header";

const types: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/** Keywords with subschemas that apply conditionally, or to an unknown number of values. */
const otherSubschemas = [
  "items",
  "prefixItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "patternProperties",
  "dependentSchemas",
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "$defs",
  "definitions",
];

const namedSubschemas: ReadonlySet<string> = new Set([
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

/**
 * The arguments that an input schema wants repeated in headers; undefined if an annotation is invalid, which makes
 * the tool invalid. Only primitives that are reached by `properties` alone may have one, and names are unique.
 */
export function readParamHeaders(inputSchema: unknown): readonly ParamHeader[] | undefined {
  const found: ParamHeader[] = [];
  const isValid = collect(inputSchema, [], found);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  return isValid && names.size === found.length ? found : undefined;
}

function collect(schema: unknown, path: readonly string[], found: ParamHeader[]): boolean {
  if (!isJsonObject(schema)) return true;
  if (Object.hasOwn(schema, annotation)) {
    const header = schema[annotation];
    if (path.length === 0 || typeof header !== "string" || !headerName.test(header)) return false;
    if (!types.has(schema["type"])) return false;
    found.push({ header, path });
  }
  const { properties } = schema;
  const own = isJsonObject(properties) ? Object.entries(properties) : [];
  return own.every(([name, child]) => collect(child, [...path, name], found)) && hasNoneElsewhere(schema);
}

function hasNoneElsewhere(schema: JsonObject): boolean {
  return otherSubschemas.every((keyword) => {
    const value = schema[keyword];
    const isMap = namedSubschemas.has(keyword) && isJsonObject(value);
    const subschemas: readonly unknown[] = Array.isArray(value)
      ? value
      : isMap
        ? Object.values(value)
        : [value];
    return subschemas.every(hasNone);
  });
}

function hasNone(schema: unknown): boolean {
  if (!isJsonObject(schema)) return true;
  const { properties } = schema;
  const own = isJsonObject(properties) ? Object.values(properties) : [];
  return !Object.hasOwn(schema, annotation) && own.every(hasNone) && hasNoneElsewhere(schema);
}

/** The headers of a call. Arguments that are missing, `null` or not primitive have none. */
export function paramHeaders(wanted: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of wanted) {
    const text = textOf(valueAt(args, path));
    if (text !== undefined) headers[`Mcp-Param-${header}`] = encodeFieldValue(text);
  }
  return headers;
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const name of path)
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  // A larger integer may have lost digits when it was parsed.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

/** Encodes text that a header cannot hold, or that looks encoded already, as Base64 of its UTF-8. */
function encodeFieldValue(text: string): string {
  const isPlain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim();
  if (isPlain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  return `=?base64?${base64(new TextEncoder().encode(text))}?=`;
}
