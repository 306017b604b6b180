import type { FetchLike } from "@modelcontextprotocol/client";
import { boundedRetryAfter } from "../reply/retry-after.ts";

/** Names our request to our own fetch; never leaves the process. */
export const requestIdHeader = "holdfast-request-id";

/** Names the session of one message, in place of the transport's own; never leaves the process. */
export const sessionHeader = "holdfast-session-id";

/** What the SDK's transport does not pass on of a response. */
export interface ResponseNote {
  /** The header as it came: seconds, or an HTTP date. */
  readonly retryAfter: string | null;
  /** Whether an answer can still follow the response's head as an event. */
  readonly streams: boolean;
}

/** The notes of a connection, by request. */
export class ResponseNotes {
  readonly #notes = new Map<string, ResponseNote>();
  readonly #listeners = new Map<string, () => void>();

  get(requestId: string): ResponseNote | undefined {
    return this.#notes.get(requestId);
  }

  set(requestId: string, note: ResponseNote): void {
    this.#notes.set(requestId, note);
  }

  /** Calls `listener` whenever a part of the response arrives: its head, or a chunk of its body. */
  onPart(requestId: string, listener: () => void): void {
    this.#listeners.set(requestId, listener);
  }

  /** What to call for each part; undefined where nobody wants to know. */
  listener(requestId: string): (() => void) | undefined {
    return this.#listeners.get(requestId);
  }

  delete(requestId: string): void {
    this.#notes.delete(requestId);
    this.#listeners.delete(requestId);
  }
}

/** A fetch that heeds our headers and takes them off: it notes the response to each request that is named by one. */
export function notedFetch(fetchIt: FetchLike, notes: ResponseNotes): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const requestId = headers.get(requestIdHeader);
    const sessionId = headers.get(sessionHeader);
    headers.delete(requestIdHeader);
    headers.delete(sessionHeader);
    if (sessionId !== null) headers.set("mcp-session-id", sessionId);
    if (requestId === null) return fetchIt(url, sessionId === null ? init : { ...init, headers });
    const response = await fetchIt(url, { ...init, headers });
    const contentType = response.headers.get("content-type") ?? "";
    notes.set(requestId, {
      retryAfter: response.headers.get("retry-after"),
      streams: response.status !== 202 && contentType.includes("text/event-stream"),
    });
    const onPart = notes.listener(requestId);
    return onPart === undefined ? response : heardInParts(response, onPart);
  };
}

function heardInParts(response: Response, onPart: () => void): Response {
  onPart();
  const { ok, body, status, statusText, headers } = response;
  // The SDK looks at more of a response that is refused than its copy would have.
  if (!ok || body === null) return response;
  const parts = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      onPart();
      controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(parts), { status, statusText, headers });
}

/** Milliseconds that a Retry-After header asks for; `undefined` for none or an unreadable one, an hour at most. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return boundedRetryAfter(Math.max(ms, 0));
}
