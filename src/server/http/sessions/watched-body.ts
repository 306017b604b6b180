import { keepAliveComment } from "../sse.ts";

/** How a response ended: all of it was handed on, or nobody reads it any more. */
export type BodyEnd = "complete" | "abandoned";

/** So many bytes may wait for a client that does not read, and one message more. */
const maxBacklog = 16 * 1024 * 1024;

/**
 * `body` behind a comment, and a word on its end, which is told once. `signal` aborts when the client is gone: adapters
 * do not cancel a body before they have a next chunk to write. Nor do they send the headers before the first chunk,
 * and the client would not know that its stream is open: hence the comment. The SDK writes whether its client reads or
 * not, so a stream with too much in it is broken here; the client can come back for what it missed.
 */
export function watchedBody(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onEnd: (end: BodyEnd) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  const end = (how: BodyEnd): void => {
    if (over) return;
    over = true;
    signal.removeEventListener("abort", abandon);
    onEnd(how);
  };
  const abandon = (): void => {
    end("abandoned");
    reader.cancel().catch(() => undefined);
  };
  const relay = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (over) break;
      if ((controller.desiredSize ?? 0) < 0) throw new Error("The client does not read its stream.");
      controller.enqueue(next.value);
    }
    end("complete");
    controller.close(); // throws where it was cancelled, to no effect
  };
  return new ReadableStream(
    {
      start(controller) {
        signal.addEventListener("abort", abandon, { once: true });
        if (signal.aborted) abandon();
        controller.enqueue(keepAliveComment);
        relay(controller).catch((error: unknown) => {
          abandon();
          controller.error(error);
        });
      },
      cancel: abandon,
    },
    { highWaterMark: maxBacklog, size: ({ byteLength }) => byteLength },
  );
}
