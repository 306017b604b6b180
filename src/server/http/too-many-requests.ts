import { isJsonObject } from "../../generation/message.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

/** 429, for the message or batch that was one too many, with when to try again. */
export function tooManyRequests(body: unknown, error: JsonRpcError): Response {
  const retryAfterMs = isJsonObject(error.data) ? Number(error.data["retryAfterMs"]) : 0;
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) };
  const id = isJsonObject(body) ? (body["id"] ?? null) : null;
  return Response.json({ jsonrpc: "2.0", id, error }, { status: 429, headers });
}

/** What was refused for coming too fast; the other responses with this status refuse what is too much. */
const tooFast = new WeakSet<Response>();

/** 429 for what comes faster than a rate allows. */
export function tooFastRequests(body: unknown, error: JsonRpcError): Response {
  const refused = tooManyRequests(body, error);
  tooFast.add(refused);
  return refused;
}

export function isTooFast(answer: Response): boolean {
  return tooFast.has(answer);
}
