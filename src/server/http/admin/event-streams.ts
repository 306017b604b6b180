import { HoldfastError } from "../../../task/fault.ts";
import type { OnError } from "../../faults.ts";
import { keepAliveComment, keepAliveMs, streamHeaders } from "../sse.ts";
import { refusal } from "./admin-answers.ts";

/** Maximum number of open streams of an endpoint. */
const mostStreams = 100;
/** How long a stream stays open, so that a client that loses access stops receiving events. */
const longestMs = 10 * 60_000;
/** How long a client waits before it reconnects. */
const retryMs = 1_000;

const encoder = new TextEncoder();

type Events = AsyncIterator<unknown, unknown>;

/** Streams of server-sent events, each read as fast as its client reads it. */
export class EventStreams {
  readonly #onError: OnError;
  readonly #open = new Set<AbortController>();

  constructor(onError: OnError) {
    this.#onError = onError;
  }

  /** Streams what `follow` yields, after waiting for its first value. `gone` aborts when the client disconnects. */
  async answer(
    follow: (signal: AbortSignal) => AsyncIterable<unknown, unknown>,
    gone: AbortSignal,
  ): Promise<Response> {
    if (this.#open.size >= mostStreams) {
      const message = `All ${mostStreams} event streams are in use. Try again later.`;
      return refusal(503, "limit_reached", message, { "Retry-After": "5" });
    }
    const over = new AbortController();
    const end = (): void => over.abort();
    this.#open.add(over);
    const timer = setTimeout(end, longestMs).unref();
    over.signal.addEventListener("abort", () => {
      this.#open.delete(over);
      clearTimeout(timer);
      gone.removeEventListener("abort", end);
    });
    gone.addEventListener("abort", end);
    if (gone.aborted) end();
    try {
      const events = follow(over.signal)[Symbol.asyncIterator]();
      const first = await events.next();
      const chunks = new Chunks(events, first, (error) => this.#broken(error));
      over.signal.addEventListener("abort", () => chunks.end());
      if (over.signal.aborted) chunks.end();
      return new Response(readableOf(chunks, over), { headers: streamHeaders });
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Ends all streams. */
  close(): void {
    for (const over of this.#open) over.abort();
  }

  /** If the store no longer answers, clients get that error on their next request. */
  #broken(error: unknown): void {
    if (!(error instanceof HoldfastError)) this.#onError(error);
  }
}

function readableOf(chunks: Chunks, over: AbortController): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await chunks.next();
        if (chunk !== undefined) return controller.enqueue(chunk);
        over.abort();
        controller.close();
      },
      cancel: () => over.abort(),
    },
    { highWaterMark: 0 },
  );
}

/** Events in order, on demand; a comment if there is no event for long. */
class Chunks {
  readonly #events: Events;
  readonly #broken: (error: unknown) => void;
  #ready: Uint8Array | undefined;
  #isReading = false;
  #isOver: boolean;
  #wake = (): void => undefined;

  constructor(events: Events, first: IteratorResult<unknown, unknown>, broken: (error: unknown) => void) {
    this.#events = events;
    this.#broken = broken;
    this.#isOver = first.done === true;
    this.#ready = encoder.encode(`retry: ${retryMs}\n\n${this.#isOver ? "" : textOf(first.value)}`);
  }

  /** Undefined at the end. Call it again only after it resolved. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#ready === undefined && !this.#isOver) {
      if (!this.#isReading) void this.#read();
      await this.#waitForEvent();
      if (this.#ready === undefined && !this.#isOver) return keepAliveComment;
    }
    const chunk = this.#ready;
    this.#ready = undefined;
    return chunk;
  }

  /**
   * Events that are ready still go out. A call that waits for the next event gets the end, and a `follow` that does not answer is not
   * waited for.
   */
  end(): void {
    this.#isOver = true;
    this.#events.return?.().catch(this.#broken);
    this.#wake();
  }

  /** Continues while comments are sent, so that each comment does not wait for its own promise. */
  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      const { done, value } = await this.#events.next();
      if (done === true) this.#isOver = true;
      else this.#ready = encoder.encode(textOf(value));
    } catch (error) {
      this.#isOver = true;
      this.#broken(error);
    }
    this.#isReading = false;
    this.#wake();
  }

  #waitForEvent(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, keepAliveMs).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function textOf(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
