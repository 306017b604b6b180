import type { FetchLike } from "@modelcontextprotocol/client";
import { boundedRetryAfter } from "../reply/retry-after.ts";

/** Names our request to our own fetch; never leaves the process. */
export const requestIdHeader = "holdfast-request-id";

/** What the SDK's transport does not pass on of a response. */
export interface ResponseNote {
  /** The header as it came: seconds, or an HTTP date. */
  readonly retryAfter: string | null;
  /** Whether an answer can still follow the response's head as an event. */
  readonly streams: boolean;
}

/** The notes of a connection, by request. */
export type ResponseNotes = Map<string, ResponseNote>;

/** A fetch that notes the response to each request that bears our header, and takes the header off. */
export function notedFetch(fetchIt: FetchLike, notes: ResponseNotes): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const requestId = headers.get(requestIdHeader);
    if (requestId === null) return fetchIt(url, init);
    headers.delete(requestIdHeader);
    const response = await fetchIt(url, { ...init, headers });
    const contentType = response.headers.get("content-type") ?? "";
    notes.set(requestId, {
      retryAfter: response.headers.get("retry-after"),
      streams: response.status !== 202 && contentType.includes("text/event-stream"),
    });
    return response;
  };
}

/** Milliseconds that a Retry-After header asks for; `undefined` for none or an unreadable one, an hour at most. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return boundedRetryAfter(Math.max(ms, 0));
}
