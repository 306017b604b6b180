import { UnreadError, type Backlog } from "./unread-bytes.ts";

/** How a response ended: all of it was handed on, or nobody reads it any more. */
export type BodyEnd = "complete" | "abandoned";

export interface Watching {
  /** Aborts when the client is gone: adapters do not cancel a body before they have a next chunk to write. */
  readonly signal: AbortSignal;
  /** Begins to count what waits, which `cut` drops. */
  readonly count: (cut: () => void) => Backlog;
  /** Called once. */
  readonly onEnd?: (end: BodyEnd) => void;
  /** What the client reads before `body`. */
  readonly opening?: Uint8Array;
  /** So many bytes may wait for a client that does not read, and one message more. Default: any number. */
  readonly maxBacklog?: number;
}

/**
 * `body`, read at once: the SDK writes whether its client reads or not, so what waits is counted and bounded here. A
 * stream that is cut off breaks.
 */
export function watchedBody(
  body: ReadableStream<Uint8Array>,
  watching: Watching,
): ReadableStream<Uint8Array> {
  const { signal, count, onEnd, opening, maxBacklog = Infinity } = watching;
  const reader = body.getReader();
  const waiting = opening === undefined ? [] : [opening];
  let bytes = 0;
  let ended: BodyEnd | undefined;
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  let wake = (): void => undefined;
  const resize = (by: number): void => {
    bytes += by;
    unread.hold(bytes);
  };
  const end = (how: BodyEnd): void => {
    if (ended === undefined) onEnd?.(how);
    ended ??= how;
    wake();
  };
  const drop = (): void => {
    signal.removeEventListener("abort", abandon);
    waiting.length = 0;
    unread.end();
  };
  const abandon = (): void => {
    drop();
    end("abandoned");
    reader.cancel().catch(() => undefined);
  };
  const fail = (error: unknown): void => {
    abandon();
    out?.error(error);
  };
  /** Whether there is more to come. */
  const receive = ({ value }: { readonly value?: Uint8Array | undefined }): boolean => {
    if (ended !== undefined) return false;
    if (value === undefined) {
      end("complete");
      return false;
    }
    if (bytes > maxBacklog) throw new UnreadError();
    waiting.push(value);
    resize(value.byteLength);
    wake();
    return true;
  };
  const relay = async (): Promise<void> => {
    let more = true;
    while (more) more = receive(await reader.read());
  };
  const unread = count(() => fail(new UnreadError()));
  return new ReadableStream(
    {
      start(controller) {
        out = controller;
        signal.addEventListener("abort", abandon, { once: true });
        if (signal.aborted) abandon();
        relay().catch(fail);
      },
      async pull(controller) {
        while (waiting.length === 0 && ended === undefined) {
          await new Promise<void>((resolve) => (wake = resolve));
        }
        const chunk = waiting.shift();
        if (chunk === undefined) {
          drop();
          controller.close(); // throws where it broke or was cancelled, to no effect
        } else {
          controller.enqueue(chunk);
          if (chunk !== opening) resize(-chunk.byteLength);
        }
      },
      cancel: abandon,
    },
    { highWaterMark: 0 },
  );
}
