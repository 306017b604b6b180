import {
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isInitializeRequest,
  isJsonContentType,
  parseJSONRPCMessage,
  type JSONRPCMessage,
} from "@modelcontextprotocol/server";
import { protocolVersions } from "../../../generation/generations.ts";
import {
  batchRefused,
  invalidMessage,
  notAcceptable,
  notInitialized,
  oneInitialization,
  sessionMissing,
  unsupportedMediaType,
} from "./refusals.ts";
import { acceptedForm } from "./requests-in.ts";

const firstWithoutBatches = "2025-06-18";

/**
 * The messages of a POST, or its refusal. `body` is the parsed JSON, and `agreed` the protocol version of the session;
 * without one, the header says it.
 */
export function readPost(
  { headers }: Request,
  body: unknown,
  agreed?: string,
): readonly JSONRPCMessage[] | Response {
  if (acceptedForm(headers.get("accept")) === undefined) {
    return notAcceptable(
      "Client must accept application/json, or both application/json and text/event-stream",
    );
  }
  if (!isJsonContentType(headers.get("content-type"))) return unsupportedMediaType();
  const version = agreed ?? headers.get("mcp-protocol-version") ?? DEFAULT_NEGOTIATED_PROTOCOL_VERSION;
  if (Array.isArray(body) && !takesBatches(version)) return batchRefused(version);
  try {
    return (Array.isArray(body) ? body : [body]).map(parseJSONRPCMessage);
  } catch {
    return invalidMessage();
  }
}

/** The messages of a POST that opens a session, or its refusal: nothing else comes without a session. */
export function readHandshake(request: Request, body: unknown): readonly JSONRPCMessage[] | Response {
  const messages = readPost(request, body);
  if (messages instanceof Response) return messages;
  if (messages.some(isInitializeRequest)) return messages.length === 1 ? messages : oneInitialization();
  // One with invalid params.
  return messages.some((message) => "method" in message && message.method === "initialize")
    ? notInitialized()
    : sessionMissing();
}

/** An unknown version is refused as such later on. */
function takesBatches(version: string): boolean {
  return version < firstWithoutBatches || !protocolVersions.includes(version);
}
