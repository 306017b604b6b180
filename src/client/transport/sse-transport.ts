import {
  type FetchLike,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Transport,
} from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { retryDelay } from "../task/poll-limits.ts";
import { retryAfterHeaderMs } from "../reply/retry.ts";
import { type AnswerBounds, isEventStream, readEvents, type ServerEvent } from "./server-sent-events.ts";
import { deliverMessages } from "./wire-messages.ts";
import { describeCause, TaskClientError } from "../task-client-error.ts";
import { sendFailure } from "./send-failure.ts";

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

/** How long a server may take to name the URL for messages. */
const endpointMs = 5_000;

interface SseTransportOptions {
  readonly url: URL;
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
  /** The headers of the stream and of each message. */
  readonly headers: () => Promise<Headers>;
  readonly bounds: AnswerBounds;
}

/** Whether an HTTP+SSE server may answer like this to a POST at the URL of its stream. The client then requests the stream (B-117). */
export function mayBeRefusedByHttpSse(status: number): boolean {
  return status === 400 || status === 404 || status === 405;
}

/** The URL has no HTTP+SSE server. */
export class NoSseServer extends Error {
  override readonly name = "NoSseServer";
}

/**
 * The HTTP+SSE transport of 2024-11-05: a stream (GET) with everything that the server sends. Its first event names the URL to post
 * messages to (B-117). The stream cannot be resumed, so its end is the end of the connection. The SDK's transport instead opens another
 * stream, on which answers to earlier messages never arrive.
 */
export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #options: SseTransportOptions;
  readonly #ended = new AbortController();
  #endpoint: URL | undefined;

  constructor(options: SseTransportOptions) {
    this.#options = options;
  }

  /** Rejects with NoSseServer if that is what the answer shows, and with 401 or 403 as an SdkHttpError. */
  async start(): Promise<void> {
    try {
      const events = await this.#open();
      void this.#read(events);
    } catch (error) {
      this.#ended.abort();
      throw error;
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint === undefined || this.#ended.signal.aborted)
      throw new SdkError(SdkErrorCode.NotConnected, "Not connected");
    const headers = await this.#options.headers();
    headers.set("content-type", "application/json");
    const { fetch: fetchIt, bounds } = this.#options;
    const answer = await fetchIt(endpoint, {
      method: "POST",
      headers,
      body: JSON.stringify(message),
      redirect: "manual",
      signal: this.#ended.signal,
    });
    const response = bounds.bounded(answer, { byEvent: false });
    const text = await response.text();
    if (!response.ok) throw httpError(response, text);
  }

  async close(): Promise<void> {
    this.#end();
  }

  /** Opens the stream and reads its first event. */
  async #open(): Promise<AsyncGenerator<ServerEvent>> {
    const { url, clock } = this.#options;
    const deadline = clock.deadline(endpointMs);
    try {
      const events = await this.#get(AbortSignal.any([this.#ended.signal, deadline.signal]));
      const first = await events.next();
      if (first.done === true || first.value.type !== "endpoint")
        throw new NoSseServer("The stream does not start with an endpoint event");
      this.#endpoint = endpointIn(first.value, url);
      return events;
    } catch (error) {
      // A refused token says more than the answer to the POST before.
      throw sendFailure(error).kind === "lost"
        ? new NoSseServer(describeCause(error), { cause: error })
        : error;
    } finally {
      deadline.clear();
    }
  }

  async #get(signal: AbortSignal): Promise<AsyncGenerator<ServerEvent>> {
    const { url, fetch: fetchIt, headers: given, bounds } = this.#options;
    const headers = await given();
    headers.set("accept", "text/event-stream");
    const answer = await fetchWithinOrigin(fetchIt, url, { headers, signal });
    const byEvent = answer.ok && isEventStream(answer);
    const onExceeded = (error: TaskClientError): void => void (bounds.failure ??= error);
    const response = bounds.bounded(answer, { byEvent, onExceeded });
    const { status, body } = response;
    if (status === 401 || status === 403) throw httpError(response, await response.text());
    if (byEvent && body !== null) return readEvents(body);
    await body?.cancel();
    throw new NoSseServer(`The server answered GET with HTTP ${status} and no stream`);
  }

  async #read(events: AsyncGenerator<ServerEvent>): Promise<void> {
    try {
      for await (const { type, data } of events) {
        if (type === "message" && data !== "") this.#deliver(data);
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#report(error);
    }
    this.#end();
  }

  #deliver(data: string): void {
    deliverMessages(
      data,
      (message) => this.onmessage?.(message),
      (error) => this.#report(error),
    );
  }

  #report(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  /** Also aborts the messages that are being sent. */
  #end(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.onclose?.();
  }
}

/** The URL to post messages to: only at the server's own origin, since they carry its token. */
function endpointIn({ data }: ServerEvent, { href, origin }: URL): URL {
  const endpoint = URL.parse(data, href);
  if (endpoint?.origin === origin) return endpoint;
  const message = `The server asks for messages at ${JSON.stringify(data)}, which is outside its own origin ${origin}`;
  throw new TaskClientError("protocol", message);
}

function httpError({ status, statusText }: Response, text: string): SdkHttpError {
  const message = `The server answered HTTP ${status}`;
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, message, { status, statusText, text });
}
