import { keepAliveComment, keepAliveMs } from "./sse.ts";
import { UnreadError, type Backlog } from "./unread-bytes.ts";

/** How a stream ended: everything was passed on, or its reader is gone. */
export type StreamEnd = "complete" | "abandoned";

export interface OutgoingStreamOptions {
  /** Begins to count what waits, which `cut` drops. */
  readonly count: (cut: () => void) => Backlog;
  /** Aborts when the client is gone: adapters do not cancel a body before they have a next chunk to write. */
  readonly signal?: AbortSignal;
  /** Maximum number of bytes waiting for a client that does not read, plus one message. Default: no limit. */
  readonly maxBacklog?: number;
  /** Whether a comment is sent when the stream is silent for long. Default false. */
  readonly keepAlive?: boolean;
}

/**
 * A body that is written whether its client reads or not: what waits is counted and bounded here. A stream that is cut off breaks.
 */
export class OutgoingStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #options: OutgoingStreamOptions;
  readonly #backlog: Backlog;
  readonly #waiting: Uint8Array[] = [];
  #bytes = 0;
  #end: StreamEnd | undefined;
  readonly #onEnd: ((end: StreamEnd) => void)[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #wake = (): void => undefined;

  constructor(options: OutgoingStreamOptions) {
    this.#options = options;
    this.#backlog = options.count(() => this.fail(new UnreadError()));
    this.readable = new ReadableStream(
      {
        start: (controller) => void (this.#controller = controller),
        pull: (controller) => this.#pull(controller),
        cancel: () => this.abandon(),
      },
      { highWaterMark: 0 },
    );
    const { signal, keepAlive } = options;
    signal?.addEventListener("abort", this.abandon, { once: true });
    if (signal?.aborted === true) this.abandon();
    else if (keepAlive === true) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs).unref();
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** Calls `listener` once when the stream has ended, or at once if it has. */
  whenEnded(listener: (end: StreamEnd) => void): void {
    if (this.#end === undefined) this.#onEnd.push(listener);
    else listener(this.#end);
  }

  /** Once the stream has ended, what is written is dropped. */
  write(chunk: Uint8Array): void {
    if (!this.isOpen) return;
    if (this.#bytes > (this.#options.maxBacklog ?? Infinity)) return this.fail(new UnreadError());
    this.#waiting.push(chunk);
    this.#resize(chunk.byteLength);
    this.#wake();
  }

  /** Writes all of `body`, read at once: the SDK writes whether its client reads or not. */
  relay(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    this.whenEnded((end) => {
      if (end === "abandoned") reader.cancel().catch(() => undefined);
    });
    const relay = async (): Promise<void> => {
      for (let { value } = await reader.read(); value !== undefined; { value } = await reader.read()) {
        this.write(value);
      }
      this.complete();
    };
    relay().catch((error: unknown) => this.fail(error));
    return this.readable;
  }

  /** Its client still reads what waits. */
  complete(): void {
    this.#over("complete");
  }

  /** Its client is gone. */
  readonly abandon = (): void => {
    this.#drop();
    this.#over("abandoned");
  };

  /** Breaks the stream. */
  fail(error: unknown): void {
    this.abandon();
    this.#controller?.error(error);
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#waiting.length === 0 && this.isOpen) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const chunk = this.#waiting.shift();
    if (chunk === undefined) {
      this.#drop();
      controller.close(); // throws where it broke or was cancelled, to no effect
    } else {
      controller.enqueue(chunk);
      this.#resize(-chunk.byteLength);
    }
  }

  #beat(): void {
    // A client that does not read needs no more to read.
    if (this.#waiting.length === 0) this.write(keepAliveComment);
  }

  #resize(by: number): void {
    this.#bytes += by;
    this.#backlog.hold(this.#bytes);
  }

  #drop(): void {
    this.#options.signal?.removeEventListener("abort", this.abandon);
    this.#waiting.length = 0;
    this.#backlog.end();
  }

  #over(end: StreamEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    clearInterval(this.#keepAlive);
    for (const listener of this.#onEnd) listener(end);
    this.#wake();
  }
}
