import type { FetchLike, RequestId } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../generation/message.ts";
import type { TaskClientError } from "../task-client-error.ts";
import { arrivingPart, type PartBytes } from "../artifact/part-bytes.ts";
import { type AnswerBounds, isEventStream, mediaType, readableEvents } from "./server-sent-events.ts";
import { readableTexts } from "./wire-messages.ts";

/** Passes the id of our request to `recordingFetch`, which removes it. */
export const requestIdHeader = "holdfast-request-id";

/** Passes the session of one message to `recordingFetch`, which replaces the transport's `mcp-session-id` by it. */
export const sessionHeader = "holdfast-session-id";

/** What the SDK's transport does not report of a response. */
export interface ResponseRecord {
  /** The Retry-After header: seconds, or an HTTP date. */
  readonly retryAfter: string | null;
  /** Whether the answer can follow as a server-sent event. */
  readonly streams: boolean;
}

/** What waits for a response. */
export interface ResponseListener {
  /** Called when the response's head arrives, and for each chunk of its body. */
  readonly onActivity?: (() => void) | undefined;
  /** Called when the server's stream was cut off, because it exceeds a bound. */
  readonly onExceeded: (error: TaskClientError) => void;
}

/** The responses of a connection by request id. */
export class ResponseRecords {
  readonly #records = new Map<string, ResponseRecord>();
  readonly #listeners = new Map<string, ResponseListener>();
  readonly #streamed = new Set<RequestId>();

  get(requestId: string): ResponseRecord | undefined {
    return this.#records.get(requestId);
  }

  set(requestId: string, record: ResponseRecord): void {
    this.#records.set(requestId, record);
  }

  listen(requestId: string, listener: ResponseListener): void {
    this.#listeners.set(requestId, listener);
  }

  listener(requestId: string): ResponseListener | undefined {
    return this.#listeners.get(requestId);
  }

  /** The answer to a request of the SDK's client can follow as a server-sent event. */
  streams(id: RequestId): void {
    this.#streamed.add(id);
  }

  /** Whether it can; once for each response. */
  takeStream(id: RequestId): boolean {
    return this.#streamed.delete(id);
  }

  delete(requestId: string): void {
    this.#records.delete(requestId);
    this.#listeners.delete(requestId);
  }
}

/**
 * A fetch that removes the two headers above, applies them, and records the response of each request with an id. `endBy` is called when
 * the stream of any other request exceeds a bound.
 */
export function recordingFetch(
  fetchIt: FetchLike,
  records: ResponseRecords,
  bounds: AnswerBounds,
  endBy: (error: TaskClientError) => void,
): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const requestId = headers.get(requestIdHeader);
    const sessionId = headers.get(sessionHeader);
    headers.delete(requestIdHeader);
    headers.delete(sessionHeader);
    if (sessionId !== null) headers.set("mcp-session-id", sessionId);
    const part = arrivingPart.getStore();
    if (requestId === null) {
      const response = await fetchIt(url, sessionId === null ? init : { ...init, headers });
      const answers = init?.method === "POST" ? idOf(init.body) : undefined;
      const byEvent = isStream(response) && (init?.method !== "POST" || answers !== undefined);
      if (byEvent && answers !== undefined) records.streams(answers);
      const bounded = bounds.bounded(response, { byEvent, onExceeded: byEvent ? endBy : undefined });
      return readable(part === undefined ? bounded : without(part, bounded), byEvent, answers);
    }
    const response = await fetchIt(url, { ...init, headers });
    const streams = isStream(response);
    records.set(requestId, { retryAfter: response.headers.get("retry-after"), streams });
    const { onActivity, onExceeded } = records.listener(requestId) ?? {};
    const bounded = bounds.bounded(response, {
      byEvent: streams,
      onActivity,
      onExceeded: streams ? onExceeded : undefined,
    });
    return readable(part === undefined ? bounded : without(part, bounded), streams, requestId);
  };
}

/** The response with messages that the SDK's transport can read. Rejects if it has none. `answers`: the request, if it answers one. */
async function readable(
  response: Response,
  byEvent: boolean,
  answers: RequestId | undefined,
): Promise<Response> {
  const { body, status, statusText, headers, url } = response;
  if (body === null || !response.ok || status === 202) return response;
  let content: string | ReadableStream<Uint8Array<ArrayBuffer>>;
  if (byEvent) content = readableEvents(body, (data) => readableTexts(data, answers));
  else if (answers !== undefined && mediaType(response) === "application/json")
    content = jsonOf(readableTexts(await response.text(), answers));
  else return response;
  return Object.defineProperty(new Response(content, { status, statusText, headers }), "url", { value: url });
}

/** The response without the bytes of the part that it answers with. */
function without(part: PartBytes, response: Response): Response {
  const { body, status, statusText, headers, url } = response;
  if (body === null || !response.ok || status === 202) return response;
  const rest = new Response(part.from(body), { status, statusText, headers });
  return Object.defineProperty(rest, "url", { value: url });
}

/** Whether the SDK's transport reads the answer to a request event by event. */
function isStream(response: Response): boolean {
  return response.ok && response.status !== 202 && isEventStream(response);
}

/** The id of the request in a body; undefined for anything else, whose answer the SDK's transport reads whole, whatever its content type. */
function idOf(body: unknown): RequestId | undefined {
  const message: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  if (!isJsonObject(message) || message["method"] === undefined) return undefined;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

function jsonOf(messages: readonly string[]): string {
  const [only] = messages;
  return messages.length === 1 && only !== undefined ? only : `[${messages.join(",")}]`;
}
