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
