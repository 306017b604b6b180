import type { FetchLike } from "@modelcontextprotocol/client";

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

/** The responses of a connection by request id. */
export class ResponseRecords {
  readonly #records = new Map<string, ResponseRecord>();
  readonly #listeners = new Map<string, () => void>();

  get(requestId: string): ResponseRecord | undefined {
    return this.#records.get(requestId);
  }

  set(requestId: string, record: ResponseRecord): void {
    this.#records.set(requestId, record);
  }

  /** Calls `listener` when the response's head arrives, and for each chunk of its body. */
  onActivity(requestId: string, listener: () => void): void {
    this.#listeners.set(requestId, listener);
  }

  listener(requestId: string): (() => void) | undefined {
    return this.#listeners.get(requestId);
  }

  delete(requestId: string): void {
    this.#records.delete(requestId);
    this.#listeners.delete(requestId);
  }
}

/** A fetch that removes the two headers above, applies them, and records the response of each request with an id. */
export function recordingFetch(fetchIt: FetchLike, records: ResponseRecords): FetchLike {
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
    records.set(requestId, {
      retryAfter: response.headers.get("retry-after"),
      streams: response.status !== 202 && contentType.includes("text/event-stream"),
    });
    const onActivity = records.listener(requestId);
    return onActivity === undefined ? response : observed(response, onActivity);
  };
}

function observed(response: Response, onActivity: () => void): Response {
  onActivity();
  const { ok, body, status, statusText, headers } = response;
  // The SDK reads fields of an error response that a copy would lack.
  if (!ok || body === null) return response;
  const parts = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      onActivity();
      controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(parts), { status, statusText, headers });
}
