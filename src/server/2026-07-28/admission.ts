import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import {
  type Capabilities,
  declaresTasks,
  generation,
  missingCapabilities,
  tasksCapability,
} from "../../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { AnswerEnd } from "../streams.ts";
import { lacking, generation as plain, type PlainPolicies } from "../plain/plain-policies.ts";
import type { Access } from "../request.ts";
import type { LineReader } from "../task-resources.ts";
import type { TaskListening } from "../../generation/2026-07-28-listen.ts";
import { type InputMethod, missingForInput } from "../../task/journal.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError } from "../../task/fault.ts";

/** A request in which the SDK would find nothing wrong before it looks for its handler. */
export interface ExactMessage {
  readonly jsonrpc: "2.0";
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

/** Reads the value of an HTTP header, named in lower case. */
export type ReadHeader = (name: string) => string | null | undefined;

/** How many envelopes are remembered, and how long each may be: a client sends the same one with each of its requests. */
const mostEnvelopes = 1_000;
const mostCharacters = 2_000;

const members: readonly string[] = ["jsonrpc", "id", "method", "params"];

const envelopeKeys: readonly string[] = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
];

/** What the `Mcp-Name` header of a request repeats. */
const nameOf: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Envelopes that the SDK has accepted, as JSON text; the oldest first. */
const accepted = new Set<string>();

/**
 * Whether a body is certainly a valid request, which can be answered without asking the SDK. If false, the SDK decides, and words the
 * refusal.
 */
export function isExact(body: unknown): body is ExactMessage {
  if (!isJsonObject(body) || body["jsonrpc"] !== "2.0") return false;
  const { id, method, params } = body;
  if (typeof method !== "string" || !(typeof id === "string" || Number.isSafeInteger(id))) return false;
  for (const member in body) if (!members.includes(member)) return false;
  if (!isJsonObject(params) || !isJsonObject(params["_meta"])) return false;
  if (params["requestState"] !== undefined && typeof params["requestState"] !== "string") return false;
  if (method === "tools/call" && !isExactCall(params)) return false;
  return isExactMeta(params["_meta"], body);
}

/** Whether the standard headers of an exact message repeat it literally. The SDK decodes encoded names. */
export function headersRepeat({ method, params }: ExactMessage, header: ReadHeader): boolean {
  if (header("mcp-protocol-version") !== generation || header("mcp-method") !== method) return false;
  const source = Object.hasOwn(nameOf, method) ? nameOf[method] : undefined;
  if (source === undefined) return true;
  const name = params[source];
  return typeof name === "string" && !name.startsWith("=?") && header("mcp-name") === name;
}

function isExactCall({ name, arguments: args }: JsonObject): boolean {
  return typeof name === "string" && (args === undefined || isJsonObject(args));
}

function isExactMeta(meta: JsonObject, body: JsonObject): boolean {
  if (meta[PROTOCOL_VERSION_META_KEY] !== generation) return false;
  const { progressToken } = meta;
  if (
    progressToken !== undefined &&
    typeof progressToken !== "string" &&
    !Number.isSafeInteger(progressToken)
  )
    return false;
  for (const key in meta) {
    if (key.startsWith("io.modelcontextprotocol/") && !envelopeKeys.includes(key)) return false;
  }
  // An object, for in a list what is missing would read as null, which the SDK refuses.
  const envelope = JSON.stringify({
    capabilities: meta[CLIENT_CAPABILITIES_META_KEY],
    info: meta[CLIENT_INFO_META_KEY],
    logLevel: meta[LOG_LEVEL_META_KEY],
  });
  if (accepted.has(envelope)) return true;
  if (classifyInboundRequest({ httpMethod: "POST", body }).kind !== "modern") return false;
  if (envelope.length > mostCharacters) return true;
  for (const oldest of accepted) {
    if (accepted.size < mostEnvelopes) break;
    accepted.delete(oldest);
  }
  accepted.add(envelope);
  return true;
}

/** The way to the sender of one request, as long as the request is open. */
export interface RequestStream {
  /** Sends a notification ahead of the answer; one that does not arrive is lost. */
  notify(method: string, params: object): void;
  /** Runs `action` once the answer is sent, or never will be. */
  afterAnswer(action: (end: AnswerEnd) => void): void;
  /** Runs `action` if the answer is never sent, or the transport learns that the client cannot have got it. */
  onUndelivered(action: () => void): void;
  /**
   * After the signal of a request aborted: what its client did; undefined if it did nothing, because the server stops or the connection
   * ended.
   */
  readonly leftBy: "closing" | "cancelling" | undefined;
}

/** The sender of a request of this revision, as a reader of logs and outputs. */
export function lineReader({
  principal,
  access,
}: {
  readonly principal: string | null;
  readonly access?: Access | undefined;
}): LineReader {
  return { principal, session: undefined, scopes: access?.scopes, generations: [generation, plain] };
}

/** Whether a call of `tool` becomes a task (X-006, A-34). */
export function becomesTask(tool: Tool, capabilities: Capabilities): boolean {
  return tool.task !== "forbidden" && declaresTasks(capabilities);
}

/**
 * The fault of a call that needs capabilities its client did not declare, naming all of them; otherwise undefined. Without the extension,
 * questions are asked in rounds of the call, or answered by a polling tool.
 */
export function missingForCall(
  tool: Tool,
  capabilities: Capabilities,
  policies: PlainPolicies,
): HoldfastError | undefined {
  const isPlain = !declaresTasks(capabilities);
  const missing = {
    ...(tool.task === "required" && isPlain && tasksCapability),
    ...missingCapabilities(
      lacking(tool, capabilities, isPlain ? policies.of(tool) : undefined),
      capabilities,
    ),
  };
  return Object.keys(missing).length === 0 ? undefined : missingCapability(`Tool ${tool.name}`, missing);
}

/** The fault of a `tasks/*` message whose client did not declare the extension (X-009, X-095). */
export function missingForMethod(method: string, capabilities: Capabilities): HoldfastError | undefined {
  return declaresTasks(capabilities) ? undefined : missingCapability(method, tasksCapability);
}

/** The fault of a listen request for tasks whose client did not declare the extension (X-087, A-28); logs and outputs need nothing. */
export function missingForListen(
  { taskIds }: Pick<TaskListening, "taskIds">,
  capabilities: Capabilities,
): HoldfastError | undefined {
  return taskIds === undefined ? undefined : missingForMethod("Listening to tasks", capabilities);
}

/** The fault of a question that its client did not declare to take, else undefined (X-B-011). */
export function missingForQuestion(
  key: string,
  method: InputMethod,
  params: JsonObject,
  capabilities: Capabilities,
): HoldfastError | undefined {
  const missing = missingForInput(method, params, capabilities);
  return missing === undefined ? undefined : missingCapability(`The question "${key}"`, missing);
}

function missingCapability(what: string, required: Capabilities): HoldfastError {
  const { extensions, ...others } = required;
  const names = [...(extensions === undefined ? [] : ["the tasks extension"]), ...Object.keys(others)];
  return new HoldfastError(
    "missing_capability",
    `${what} needs client capabilities that this request does not declare: ${names.join(", ")}.`,
    { data: { requiredCapabilities: required } },
  );
}
