/** A stream on its way to a client. */
export interface WatchedStream {
  readonly readable: ReadableStream<Uint8Array>;
  /** Ends it before its source does, with `last` as the last that its client reads. */
  end(last: Uint8Array): void;
}

/**
 * `body`, read as fast as its client reads. Reports once when it ends, and whether the client has read all. `signal` aborts when the client
 * disconnects: adapters may not cancel a stream before they have a next chunk to write.
 */
export function watchedStream(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onEnd: (isRead: boolean) => void,
): WatchedStream {
  const reader = body.getReader();
  let over = false;
  let cut = false;
  const end = (isRead: boolean): void => {
    if (over) return;
    over = true;
    signal.removeEventListener("abort", leave);
    onEnd(isRead);
  };
  const leave = (): void => end(false);
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  const readable = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        out = controller;
        signal.addEventListener("abort", leave);
        if (signal.aborted) leave();
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (cut) return;
          if (done) {
            end(true);
            controller.close();
          } else {
            controller.enqueue(value);
          }
        } catch (error) {
          leave();
          throw error;
        }
      },
      cancel(reason) {
        leave();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return {
    readable,
    end(last) {
      if (over) return;
      cut = true;
      end(true);
      out?.enqueue(last);
      out?.close();
      reader.cancel().catch(() => undefined);
    },
  };
}
