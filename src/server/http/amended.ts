import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { isStream, messageEvent, sseEvents } from "./sse.ts";

/** `response` of the SDK with another result in it; what has none stays as it is. */
export async function amended(
  response: Response,
  amend: (result: JsonObject) => JsonObject,
): Promise<Response> {
  const { body, status, headers } = response;
  if (body === null) return response;
  const amendMessage = (message: unknown): unknown =>
    isJsonObject(message) && isJsonObject(message["result"])
      ? { ...message, result: amend(message["result"]) }
      : message;
  if (!isStream(response)) {
    return Response.json(amendMessage(await response.json()), { status, headers });
  }
  const events = async function* (): AsyncGenerator<Uint8Array> {
    for await (const { bytes, message } of sseEvents(body.getReader())) {
      yield isJsonObject(message) && "result" in message
        ? messageEvent(amendMessage(message) as object)
        : bytes;
    }
  };
  return new Response(ReadableStream.from(events()), { status, headers });
}
