import type { ServerResponse } from "node:http";

/**
 * Sends `response`, as fast as its client takes it; resolves when all was handed on, or nobody reads it any more. A
 * client that takes nothing for `stallMs` milliseconds while something waits for it loses its connection.
 */
export async function sendResponse(
  response: Response,
  outgoing: ServerResponse,
  stallMs: number,
): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  const reader = response.body?.getReader();
  if (reader === undefined) {
    outgoing.end();
    return;
  }
  // Ends the wait for the next chunk, too, which may never come.
  const gone = (): void => void reader.cancel().catch(() => undefined);
  outgoing.once("close", gone);
  if (outgoing.destroyed) gone();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (outgoing.destroyed) return;
      if (!outgoing.write(next.value)) await drained(outgoing, stallMs);
    }
  } finally {
    outgoing.off("close", gone);
  }
  outgoing.end();
}

/** Resolves when the client has taken all that waits for it, or is gone. */
function drained(outgoing: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const { socket } = outgoing;
    const end = (): void => {
      outgoing.off("drain", end).off("close", end);
      socket?.setTimeout(0);
      resolve();
    };
    outgoing.on("drain", end).on("close", end);
    // As long as some of it goes out, the socket does not count as idle; then node destroys it.
    socket?.setTimeout(stallMs);
    if (outgoing.destroyed) end();
  });
}
