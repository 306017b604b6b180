import type { FetchLike, JSONRPCMessage } from "@modelcontextprotocol/client";
import { parseJSONRPCMessage } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { retryDelay } from "../task/pacing.ts";
import { fetchWithinOrigin } from "./fetch-within-origin.ts";
import { retryAfterMs } from "./noted-fetch.ts";
import { readEvents } from "./read-events.ts";

interface StandaloneStreamOptions {
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
  readonly onMessage: (message: JSONRPCMessage) => void;
  readonly onError: (error: Error) => void;
  /** The stream was there, and the server gives no other: it may have lost the session. */
  readonly onLost: () => void;
  /** The Authorization header, as it has to be now; undefined to leave the first one. */
  readonly authorization: () => Promise<string | undefined>;
}

/** A stream that stood for so long has not failed when it ends. */
const steadyMs = 10_000;

/**
 * The stream on which a server of 2025-11-25 or before sends what belongs to no request (GET), such as the questions
 * of tasks. The SDK's transport opens it once per session, and after a break not for long; this one comes back for as
 * long as the session lives, and takes up what it missed.
 */
export class StandaloneStream {
  readonly #options: StandaloneStreamOptions;
  #current = new AbortController();

  constructor(options: StandaloneStreamOptions) {
    this.#options = options;
  }

  /** A fetch for the SDK's transport: its request for this stream is taken over, and answered as if there were none. */
  takingOver(fetchIt: FetchLike): FetchLike {
    return async (url, init = {}) => {
      const headers = new Headers(init.headers);
      // Those with an id take up the stream of a request, which stays the SDK's.
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
    let stood = false;
    for (let failures = 0; ;) {
      const startedAt = clock.elapsed();
      const end = await this.#once(url, headers, signal);
      signal.throwIfAborted();
      if (end === "none") {
        if (stood) onLost();
        return;
      }
      stood ||= end.stood;
      failures = clock.elapsed() - startedAt >= steadyMs ? 1 : failures + 1;
      await clock.sleep(retryDelay(failures, clock.random(), end.pauseMs), signal);
    }
  }

  /** One stretch of the stream; whether it was there, and how long to wait for the next, if there is to be one. */
  async #once(
    url: string | URL,
    headers: Headers,
    signal: AbortSignal,
  ): Promise<"none" | { readonly stood: boolean; readonly pauseMs: number | undefined }> {
    const { fetch: fetchIt, clock, authorization } = this.#options;
    let stood = false;
    let pauseMs: number | undefined;
    try {
      const token = await authorization();
      if (token !== undefined) headers.set("authorization", token);
      const response = await fetchWithinOrigin(fetchIt, url, { headers, signal });
      const { status, body } = response;
      if (response.ok && body !== null && isEventStream(response)) {
        stood = true;
        for await (const event of readEvents(body)) {
          pauseMs = event.retryMs;
          if (event.id !== undefined) headers.set("last-event-id", event.id);
          if (event.data !== "") this.#deliver(event.data);
        }
        return { stood, pauseMs };
      }
      await body?.cancel();
      if (mayComeBack(status))
        return { stood, pauseMs: retryAfterMs(response.headers.get("retry-after"), clock.now()) };
      // It may be only the place to go on from that the server does not know.
      if (!headers.has("last-event-id")) return "none";
      headers.delete("last-event-id");
      return { stood, pauseMs };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Error && error.name === "TaskClientError") throw error;
      return { stood, pauseMs };
    }
  }

  #deliver(data: string): void {
    const { onMessage, onError } = this.#options;
    try {
      onMessage(parseJSONRPCMessage(JSON.parse(data)));
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.includes("text/event-stream") === true;
}

/** 409: an earlier stream that the server takes to be still there. */
function mayComeBack(status: number): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 425 || status === 429;
}
