import type { RequestId } from "@modelcontextprotocol/server";
import { jsonRpcCodeOf } from "../../../task/fault.ts";
import { retryAfterSeconds, unanswered } from "../../../task/unanswered.ts";
import { refuse, tooManyRequests } from "../refusals.ts";

// The texts are those of the SDK's transport, by which clients may tell what is wrong.

export function sessionNotFound(): Response {
  return refusal(404, -32001, "Session not found");
}

/** The store cannot be read, and the client must not take its session for lost. */
export function sessionsUnreadable(begun = false): Response {
  const message = "The session cannot be read right now; try again later.";
  return refuse(503, message, { "Retry-After": retryAfterSeconds }, -32000, unanswered(begun));
}

/** `accept` tells a person who opens the address in a browser. */
export function sessionMissing(accept: string | null = null): Response {
  if (accept?.includes("text/html") === true)
    return notAcceptable(
      "This is the address of an MCP server, which browsers cannot show: give it to an MCP client",
    );
  return refusal(400, -32000, "Bad Request: Mcp-Session-Id header is required");
}

export function notInitialized(): Response {
  return refusal(400, -32000, "Bad Request: Server not initialized");
}

export function alreadyInitialized(): Response {
  return refusal(400, -32600, "Invalid Request: Server already initialized");
}

export function oneInitialization(): Response {
  return refusal(400, -32600, "Invalid Request: Only one initialization request is allowed");
}

export function unsupportedVersion(version: string, supported: readonly string[]): Response {
  const known = `supported versions: ${supported.join(", ")}`;
  return refusal(400, -32000, `Bad Request: Unsupported protocol version: ${version} (${known})`);
}

export function notAcceptable(what: string): Response {
  return refusal(406, -32000, `Not Acceptable: ${what}`);
}

export function unsupportedMediaType(): Response {
  return refusal(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
}

export function invalidMessage(): Response {
  return refusal(400, -32700, "Parse error: Invalid JSON-RPC message");
}

/** For an array of messages. The SDK takes it in every version, although only 2025-03-26 and before have batches (B-061). */
export function batchRefused(version: string): Response {
  const message = `Invalid Request: Protocol ${version} does not support batches; send each message in its own POST`;
  return refusal(400, -32600, message);
}

export function sameIdTwice(): Response {
  return refusal(400, -32600, "Invalid Request: Two requests of the batch have the same id");
}

export function methodNotAllowed(allow: string): Response {
  return refusal(405, -32000, "Method not allowed.", null, { Allow: allow });
}

/** Else the stream would end at once, and the client would resume it again and again. */
export function nothingToResume(): Response {
  return methodNotAllowed("POST, DELETE");
}

/** The answer if an author's factory failed, which was reported. */
export function internalError(id: RequestId | null): Response {
  return refusal(500, -32603, "Internal server error", id);
}

export function tooManySessions(id: RequestId | null): Response {
  return refusal(503, -32000, "Too many sessions are open; try again later.", id, { "Retry-After": "30" });
}

/** 429 for a session beyond those that one principal may have. */
export function tooManyOfOne(body: unknown, max: number): Response {
  const message = `You already have ${max} open sessions, none of them idle. End one of them first.`;
  return tooManyRequests(body, {
    code: jsonRpcCodeOf("limit_reached"),
    message,
    data: { retryAfterMs: 30_000 },
  });
}

/** 429 for requests beyond those that one session or principal may have open. */
export function tooManyOpen(body: unknown, whose: "session" | "principal", max: number): Response {
  const message = `This ${whose} already has ${max} open requests. Wait for some of them, or cancel them.`;
  const data = { retryAfterMs: 1_000 };
  return tooManyRequests(body, { code: jsonRpcCodeOf("limit_reached"), message, data });
}

/** 429 for a stream beyond those that one principal may have open. */
export function tooManyStreams(max: number): Response {
  const message = `This principal already has ${max} open streams. Close some of them first.`;
  const data = { retryAfterMs: 1_000 };
  return tooManyRequests(undefined, { code: jsonRpcCodeOf("limit_reached"), message, data });
}

function refusal(
  status: number,
  code: number,
  message: string,
  id: RequestId | null = null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ jsonrpc: "2.0", id, error: { code, message } }, { status, headers });
}
