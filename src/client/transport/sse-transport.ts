import {
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type FetchLike,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { AnswerBounds } from "./answer-bounds.ts";
import { describeCause } from "./describe-cause.ts";
import { sendFailure } from "./send-failure.ts";
import { isEventStream, readEvents, type ServerEvent } from "./server-sent-events.ts";
import { fetchWithinOrigin } from "./standalone-stream.ts";
import { deliverMessages } from "./wire-messages.ts";

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
