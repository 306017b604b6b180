// What `ReadableStream.from` and `for await` do, which some browsers lack for streams.

/** The chunks of a stream. It is cancelled when whoever reads them stops early. */
export async function* chunksOf<Chunk>(
  stream: ReadableStream<Chunk>,
): AsyncGenerator<Chunk, void, undefined> {
  const reader = stream.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isOver = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    if (!isOver) await reader.cancel();
    reader.releaseLock();
  }
}

/** A stream of chunks, each of which is made when it is read. */
export function streamOf<Chunk>(chunks: AsyncGenerator<Chunk, void, undefined>): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}
