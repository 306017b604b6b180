import type { RequestId } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../../generation/json-object.ts";
import { sseEvents } from "../sse.ts";
import { sessionNotFound } from "./refusals.ts";

/** The answer to `request` on a stream that the SDK has begun, as a plain response (C-054). */
export async function jsonAnswer(
  response: Response,
  stream: ReadableStream<Uint8Array>,
  request: RequestId,
): Promise<Response> {
  const reader = stream.getReader();
  try {
    for await (const { message } of sseEvents(reader)) {
      if (!isJsonObject(message) || message["id"] !== request || "method" in message) continue;
      const session = response.headers.get("mcp-session-id");
      return Response.json(message, { headers: session === null ? {} : { "Mcp-Session-Id": session } });
    }
    return sessionNotFound(); // it was ended meanwhile
  } finally {
    await reader.cancel();
  }
}

export function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}
