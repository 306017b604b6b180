import { cutOffText, retryAfterSeconds, unanswered } from "../../task/unanswered.ts";

/** An HTTP refusal with a JSON-RPC error that belongs to no request. */
export function refuse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  code = -32600,
  data?: object,
): Response {
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status, headers });
}

/** 503 for a request of which nothing was begun. */
export function unavailable(message: string): Response {
  return refuse(503, message, { "Retry-After": retryAfterSeconds }, -32600, unanswered(false));
}

/** 503 for a request that was begun, and is not ended here. */
export function cutOff(): Response {
  return refuse(503, cutOffText, { "Retry-After": retryAfterSeconds }, -32603, unanswered(true));
}
