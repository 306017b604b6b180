import { keepAliveComment } from "../sse.ts";

/** How a response ended: its last byte was handed on, or nobody reads it any more. */
export type BodyEnd = "complete" | "abandoned";

/**
 * `body` behind a comment, and a word on its end, which is told once. `signal` aborts when the client is gone; adapters do not
 * cancel a body before they have a next chunk to write. Nor do they send the headers before the first chunk, and
 * the client would not know that its stream is open: hence the comment.
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
  signal.addEventListener("abort", abandon, { once: true });
  if (signal.aborted) abandon();
  return new ReadableStream(
    {
      start: (controller) => controller.enqueue(keepAliveComment),
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          end("abandoned");
          throw error;
        });
        if (!done) {
          controller.enqueue(value);
          return;
        }
        end("complete");
        controller.close();
      },
      cancel: abandon,
    },
    { highWaterMark: 0 },
  );
}
