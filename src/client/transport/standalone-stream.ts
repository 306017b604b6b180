import type { FetchLike, JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { retryDelay } from "../task/poll-delays.ts";
import { retryAfterHeaderMs } from "../reply/retry.ts";
import { isEventStream, readEvents } from "./server-sent-events.ts";
import { deliverMessages } from "./wire-messages.ts";

interface StandaloneStreamOptions {
  readonly fetch: FetchLike;
  /** The same response, with the bound on each of its events. */
  readonly bounded: (response: Response) => Response;
  readonly clock: ClientClock;
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onError: (error: Error) => void;
  /** The stream ended and the server refuses a new one: it may have lost the session. */
  readonly onLost: () => void;
  /** The current Authorization header; undefined to keep the one of the first request. */
  readonly authorization: () => Promise<string | undefined>;
}

/** How one stream ended, with the pause before the next one that the server asks for. */
type StreamEnd =
  /** The server offers no stream. */
  | { readonly kind: "refused" }
  | { readonly kind: "unavailable"; readonly pauseMs: number | undefined }
  /** It was open. */
  | { readonly kind: "broke"; readonly pauseMs: number | undefined };

/** The end of a stream that was open this long is not a failure. */
const steadyMs = 10_000;

/**
 * The stream (GET) on which a server of 2025-11-25 or earlier sends messages that belong to no request, such as
 * questions of tasks. The SDK's transport opens it once per session and soon stops reconnecting. This one
 * reconnects for as long as the session exists, and resumes from the last event.
 */
export class StandaloneStream {
  readonly #options: StandaloneStreamOptions;
  #current = new AbortController();

  constructor(options: StandaloneStreamOptions) {
    this.#options = options;
  }

  /**
   * A fetch for the SDK's transport. It takes over the request for this stream and answers it with 405: no such
   * stream.
   */
  intercepting(fetchIt: FetchLike): FetchLike {
    return async (url, init = {}) => {
      const headers = new Headers(init.headers);
      // A GET with Last-Event-ID resumes the stream of a request, which the SDK handles.
      if (init.method !== "GET" || headers.has("last-event-id")) return fetchIt(url, init);
      this.#current.abort();
      this.#current = new AbortController();
      const signals = [this.#current.signal, ...(init.signal ? [init.signal] : [])];
      const signal = AbortSignal.any(signals);
      this.#run(url, headers, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#options.onError(error instanceof Error ? error : new Error(String(error)));
      });
      return new Response(null, { status: 405 });
    };
  }

  async #run(url: string | URL, headers: Headers, signal: AbortSignal): Promise<void> {
    const { clock, onLost } = this.#options;
    let wasOpen = false;
    for (let failures = 0; ;) {
      const startedAt = clock.elapsed();
      const end = await this.#open(url, headers, signal);
      signal.throwIfAborted();
      if (end.kind === "refused") {
        if (wasOpen) onLost();
        return;
      }
      wasOpen ||= end.kind === "broke";
      failures = clock.elapsed() - startedAt >= steadyMs ? 1 : failures + 1;
      await clock.sleep(retryDelay(failures, clock.random(), end.pauseMs), signal);
    }
  }

  /** Reads one stream to its end. */
  async #open(url: string | URL, headers: Headers, signal: AbortSignal): Promise<StreamEnd> {
    const { fetch: fetchIt, bounded, clock, authorization } = this.#options;
    let end: Exclude<StreamEnd, { kind: "refused" }> = { kind: "unavailable", pauseMs: undefined };
    try {
      const token = await authorization();
      if (token !== undefined) headers.set("authorization", token);
      const response = bounded(await fetchWithinOrigin(fetchIt, url, { headers, signal }));
      const { status, body } = response;
      if (response.ok && body !== null && isEventStream(response)) {
        end = { kind: "broke", pauseMs: undefined };
        for await (const event of readEvents(body)) {
          end = { kind: "broke", pauseMs: event.retryMs };
          if (event.id !== undefined) headers.set("last-event-id", event.id);
          if (event.data !== "") this.#deliver(event.data);
        }
        return end;
      }
      await body?.cancel();
      if (mayComeBack(status))
        return { ...end, pauseMs: retryAfterHeaderMs(response.headers.get("retry-after"), clock.now()) };
      // The server may just not know the event id to resume from.
      if (!headers.has("last-event-id")) return { kind: "refused" };
      headers.delete("last-event-id");
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Error && error.name === "TaskClientError") throw error;
    }
    return end;
  }

  #deliver(data: string): void {
    const { onMessage, onError } = this.#options;
    deliverMessages(data, onMessage, onError);
  }
}

/** 409: the server believes that an earlier stream is still open. */
function mayComeBack(status: number): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 425 || status === 429;
}

const mostRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Follows redirects of a GET within its origin, as the SDK's transport does for its own requests: some frameworks
 * redirect `/mcp` to `/mcp/`. A redirect to another origin is returned as it is, since the headers may hold a
 * token.
 */
export async function fetchWithinOrigin(
  fetchIt: FetchLike,
  url: string | URL,
  init: Pick<RequestInit, "headers" | "signal">,
): Promise<Response> {
  let target = new URL(url);
  for (let followed = 0; ; followed++) {
    const response = await fetchIt(target, { ...init, method: "GET", redirect: "manual" });
    const next = redirectTarget(response, target);
    if (next?.origin !== target.origin || followed === mostRedirects) return response;
    await response.body?.cancel();
    target = next;
  }
}

function redirectTarget({ status, headers }: Response, from: URL): URL | undefined {
  const location = headers.get("location");
  if (location === null || !redirects.has(status) || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from);
}
