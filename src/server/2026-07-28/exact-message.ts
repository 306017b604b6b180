import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import { generation } from "../../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

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
