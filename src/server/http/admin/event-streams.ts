import { HoldfastError } from "../../../task/fault.ts";
import type { OnError } from "../../faults.ts";
import { keepAliveComment, keepAliveMs, streamHeaders } from "../sse.ts";
import { refusal } from "./admin-answers.ts";

/** Streams of an endpoint that are open at a time. */
const mostStreams = 100;
/** How long one is open: whoever is not let in any more then hears nothing more. */
const longestMs = 10 * 60_000;
/** What a client waits before it opens the next one. */
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

  /** An answer that tells what `follow` gives, from its first on, which is waited for. `gone` aborts when the client is gone. */
  async answer(
    follow: (signal: AbortSignal) => AsyncIterable<unknown, unknown>,
    gone: AbortSignal,
  ): Promise<Response> {
    if (this.#open.size >= mostStreams) {
      const message = `${mostStreams} streams are open, as many as there may be.`;
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

  /** Ends them all. */
  close(): void {
    for (const over of this.#open) over.abort();
  }

  /** A store that does not answer any more says so to those that ask it again. */
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

/** Events as they go out, as they are asked for; a comment where none comes for long. */
class Chunks {
  readonly #events: Events;
  readonly #broken: (error: unknown) => void;
  #ready: Uint8Array | undefined;
  #isReading = false;
  #isOver: boolean;
  #tell = (): void => undefined;

  constructor(events: Events, first: IteratorResult<unknown, unknown>, broken: (error: unknown) => void) {
    this.#events = events;
    this.#broken = broken;
    this.#isOver = first.done === true;
    this.#ready = encoder.encode(`retry: ${retryMs}\n\n${this.#isOver ? "" : textOf(first.value)}`);
  }

  /** Undefined at the end. To be asked for one after the other. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#ready === undefined && !this.#isOver) {
      if (!this.#isReading) void this.#read();
      await this.#news();
      if (this.#ready === undefined && !this.#isOver) return keepAliveComment;
    }
    const chunk = this.#ready;
    this.#ready = undefined;
    return chunk;
  }

  /** What is ready still goes out. Who waits to be asked for the next event hears that nobody will, and who does not answer is not waited for. */
  end(): void {
    this.#isOver = true;
    this.#events.return?.().catch(this.#broken);
    this.#tell();
  }

  /** Goes on while comments are sent: no promise is waited for by each of them. */
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
    this.#tell();
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, keepAliveMs).unref();
      this.#tell = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function textOf(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
