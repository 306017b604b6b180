import { type Backlog, UnreadError } from "./unread-bytes.ts";

const encoder = new TextEncoder();

/** How often a stream that is silent gets a comment, in ms. */
export const keepAliveMs = 15_000;

export const streamHeaders = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
} as const;

/** One message as an event of a stream; a string is JSON text already. With an id, the stream can be resumed after it. */
export function messageEvent(message: object | string, id?: string): Uint8Array {
  const json = typeof message === "string" ? message : JSON.stringify(message);
  return encoder.encode(`event: message\n${id === undefined ? "" : `id: ${id}\n`}data: ${json}\n\n`);
}

/** An event without a message: a client whose stream breaks after it waits for `retryMs` milliseconds, and resumes it. */
export function primingEvent(id: string, retryMs: number): Uint8Array {
  return encoder.encode(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`);
}

export function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** A comment, so that proxies do not close a silent stream. */
export const keepAliveComment = encoder.encode(": keepalive\n\n");

/** One event of a stream: as it came in, and the JSON in it; a comment has none, nor what only carries an id. */
export interface SseEvent {
  readonly bytes: Uint8Array;
  readonly message: unknown;
}

/** The events of a stream that the SDK writes, which has one line of data in each; ends with its reader. */
export async function* sseEvents(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<SseEvent, void, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      yield { bytes: encoder.encode(`${event}\n\n`), message: dataOf(event) };
    }
  }
}

function dataOf(event: string): unknown {
  const line = event.split("\n").find((candidate) => candidate.startsWith("data:"));
  const data = line?.slice("data:".length).trim() ?? "";
  return data === "" ? undefined : JSON.parse(data);
}

/** How a stream ended: everything was passed on, or its reader is gone. */
export type StreamEnd = "complete" | "abandoned";

export interface OutgoingStreamOptions {
  /** Begins to count what waits, which `cut` drops. */
  readonly count: (cut: () => void) => Backlog;
  /** Aborts when the client is gone: adapters do not cancel a body before they have a next chunk to write. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of bytes waiting for a client that does not read, plus one message. Default: no limit. */
  readonly maxBacklog?: number;
  /** Whether a comment is sent when the stream is silent for long. Default false. */
  readonly keepAlive?: boolean;
}

/**
 * A body that is written whether its client reads or not: what waits is counted and bounded here. A stream that is cut off breaks. It has one reader.
 */
export class OutgoingStream {
  readonly #options: OutgoingStreamOptions;
  readonly #backlog: Backlog;
  readonly #waiting: Uint8Array[] = [];
  #bytes = 0;
  #end: StreamEnd | undefined;
  #onEnd: ((end: StreamEnd) => void)[] = [];
  #onPassedOn: ((isRead: boolean) => void)[] = [];
  #isRead: boolean | undefined;
  #onDrained: (() => void)[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #onReadable = (): void => undefined;

  constructor(options: OutgoingStreamOptions) {
    this.#options = options;
    this.#backlog = options.count(() => this.fail(new UnreadError()));
    const { signal, keepAlive } = options;
    signal?.addEventListener("abort", this.abandon, { once: true });
    if (signal?.aborted === true) this.abandon();
    else if (keepAlive === true) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs).unref();
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** For who reads web streams. */
  get readable(): ReadableStream<Uint8Array> {
    return new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
          if (this.#end === "abandoned") controller.error(new UnreadError());
        },
        pull: async (controller) => {
          while (this.#waiting.length === 0 && this.isOpen) {
            await new Promise<void>((resolve) => (this.#onReadable = resolve));
          }
          const chunk = this.take();
          if (chunk !== undefined) controller.enqueue(chunk);
          else controller.close(); // throws where it broke or was cancelled, to no effect
        },
        cancel: () => this.abandon(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Calls `listener` now, and whenever there may be something to take, or the stream has ended. */
  onReadable(listener: () => void): void {
    this.#onReadable = listener;
    listener();
  }

  /** The next chunk; undefined if none waits. */
  take(): Uint8Array | undefined {
    const chunk = this.#waiting.shift();
    if (chunk !== undefined) {
      this.#resize(-chunk.byteLength);
      if (this.#waiting.length === 0) this.#drained();
    } else if (!this.isOpen) {
      this.#drop();
      this.#passedOn(this.#end === "complete");
    }
    return chunk;
  }

  /** Calls `listener` once when the stream has ended, or at once if it has. */
  whenEnded(listener: (end: StreamEnd) => void): void {
    if (this.#end === undefined) this.#onEnd.push(listener);
    else listener(this.#end);
  }

  /** Calls `listener` once when its reader has taken all of it, or is gone. */
  whenPassedOn(listener: (isRead: boolean) => void): void {
    if (this.#isRead === undefined) this.#onPassedOn.push(listener);
    else listener(this.#isRead);
  }

  /** Resolves when its reader has taken all that was written so far, or the stream has ended. */
  drained(): Promise<void> | undefined {
    if (this.#waiting.length === 0 || !this.isOpen) return undefined;
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  /** Once the stream has ended, what is written is dropped. */
  write(chunk: Uint8Array): void {
    if (!this.isOpen) return;
    if (this.#bytes > (this.#options.maxBacklog ?? Infinity)) return this.fail(new UnreadError());
    this.#waiting.push(chunk);
    this.#resize(chunk.byteLength);
    this.#onReadable();
  }

  /** Writes all of `body`, read at once: the SDK writes whether its client reads or not. */
  relay(body: ReadableStream<Uint8Array>): void {
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
    relay().catch((error: unknown) => this.fail(error as Error));
  }

  /** Its client still reads what waits. */
  complete(): void {
    this.#over("complete");
  }

  /** Its client is gone. */
  readonly abandon = (): void => {
    this.#drop();
    this.#over("abandoned");
    this.#passedOn(false);
  };

  /** Breaks the stream. */
  fail(error: Error): void {
    this.abandon();
    this.#controller?.error(error);
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
    const listeners = this.#onEnd;
    this.#onEnd = [];
    for (const listener of listeners) listener(end);
    this.#drained();
    this.#onReadable();
  }

  #drained(): void {
    const resolved = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of resolved) resolve();
  }

  #passedOn(isRead: boolean): void {
    this.#isRead ??= isRead;
    const listeners = this.#onPassedOn;
    this.#onPassedOn = [];
    for (const listener of listeners) listener(this.#isRead);
  }
}

/** A response whose body is a stream of events. */
export interface StreamAnswer {
  /** The response without its body. */
  readonly head: Response;
  readonly stream: OutgoingStream;
}

/** `stream` as a response of events. */
export function eventStream(
  stream: OutgoingStream,
  headers: Readonly<Record<string, string>> = {},
): StreamAnswer {
  return { head: new Response(null, { headers: { ...streamHeaders, ...headers } }), stream };
}
