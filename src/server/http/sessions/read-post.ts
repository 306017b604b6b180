import {
  isInitializeRequest,
  isJsonContentType,
  parseJSONRPCMessage,
  type JSONRPCMessage,
} from "@modelcontextprotocol/server";
import {
  invalidMessage,
  notAcceptable,
  notInitialized,
  oneInitialization,
  sessionMissing,
  unsupportedMediaType,
} from "./refusals.ts";
import { acceptsBoth } from "./requests-in.ts";

/** The messages of a POST, or its refusal. `body` is the parsed JSON. */
export function readPost({ headers }: Request, body: unknown): readonly JSONRPCMessage[] | Response {
  if (!acceptsBoth(headers.get("accept"))) {
    return notAcceptable("Client must accept both application/json and text/event-stream");
  }
  if (!isJsonContentType(headers.get("content-type"))) return unsupportedMediaType();
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
