import { boundedRetryAfter } from "../reply/retry.ts";
import { numberKind } from "../../options/kind.ts";
import { TaskClientError } from "../task-client-error.ts";

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
function streamOf<Chunk>(chunks: AsyncGenerator<Chunk, void, undefined>): ReadableStream<Chunk> {
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

/** One server-sent event, with the fields that this client uses. */
export interface ServerEvent {
  /** "message" where the server names none. */
  readonly type: string;
  readonly data: string;
  /** The last id on the stream so far. */
  readonly id: string | undefined;
  /** Milliseconds that the server wants the client to wait before it reconnects. */
  readonly retryMs: number | undefined;
}

/** Reads server-sent events to the end of the stream; rejects when it breaks. */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let type = "";
  let data: string[] = [];
  let id: string | undefined;
  let retryMs: number | undefined;
  for await (const line of readLines(body)) {
    if (line === "") {
      yield { type: type === "" ? "message" : type, data: data.join("\n"), id, retryMs };
      type = "";
      data = [];
      continue;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") data.push(value);
    else if (field === "event") type = value;
    else if (field === "id") id = value;
    else if (field === "retry" && /^\d+$/.test(value)) retryMs = boundedRetryAfter(Number(value));
  }
}

async function* readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string, void, undefined> {
  /** The parts of a line whose end has not come. They are joined once: a long line comes in thousands. */
  let rest: string[] = [];
  /** Whether the chunk ended with CR: an LF at the start of the next one belongs to it. */
  let half = false;
  for await (const chunk of chunksOf(body.pipeThrough(new TextDecoderStream()))) {
    if (chunk === "") continue;
    const [first = "", ...lines] = (half && chunk.startsWith("\n") ? chunk.slice(1) : chunk).split(
      /\r\n|\r|\n/,
    );
    half = chunk.endsWith("\r");
    rest.push(first);
    const last = lines.pop();
    if (last === undefined) continue;
    yield rest.join("");
    yield* lines;
    rest = [last];
  }
}

export function isEventStream(response: Response): boolean {
  return mediaType(response) === "text/event-stream";
}

/** The content type without its parameters. */
export function mediaType({ headers }: Response): string | undefined {
  return headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
}

/** The same events, with what `read` makes of the data of each message. One whose data it throws at has none, but its other fields. */
export function readableEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  read: (data: string) => readonly string[],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  async function* written(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    for await (const event of readEvents(body)) yield encoder.encode(textOf(event, read));
  }
  return streamOf(written());
}

function textOf({ type, data, id, retryMs }: ServerEvent, read: (data: string) => readonly string[]): string {
  const fields = [
    ...(type === "message" ? [] : [`event: ${type}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(retryMs === undefined ? [] : [`retry: ${retryMs}`]),
  ];
  const texts = type === "message" && data !== "" ? readOrNothing(data, read) : [data];
  const events = texts.map((text) => [...fields, ...text.split("\n").map((line) => `data: ${line}`), "", ""]);
  return events.map((lines) => lines.join("\n")).join("");
}

function readOrNothing(data: string, read: (data: string) => readonly string[]): readonly string[] {
  try {
    return read(data);
  } catch {
    return [""];
  }
}

const lf = 10;
const cr = 13;

/** The size of the event that a stream is in, in bytes: since the last empty line. */
export class EventSize {
  #bytes = 0;
  #isLineEmpty = true;
  #isAfterCr = false;

  /** The size of the largest event that ends or goes on in this chunk. */
  after(chunk: Uint8Array): number {
    let largest = 0;
    let [nextCr, nextLf] = [placeOf(cr, chunk, 0), placeOf(lf, chunk, 0)];
    for (let at = 0; at < chunk.length;) {
      const end = Math.min(nextCr, nextLf);
      if (end > at) this.#isLineEmpty = this.#isAfterCr = false;
      this.#bytes += Math.min(end + 1, chunk.length) - at;
      largest = Math.max(largest, this.#bytes);
      if (end < chunk.length) this.#endLine(end === nextCr);
      at = end + 1;
      if (end === nextCr) nextCr = placeOf(cr, chunk, at);
      else nextLf = placeOf(lf, chunk, at);
    }
    return largest;
  }

  /** An LF after a CR belongs to it. */
  #endLine(isCr: boolean): void {
    const ends = isCr || !this.#isAfterCr;
    if (ends && this.#isLineEmpty) this.#bytes = 0;
    this.#isLineEmpty = true;
    this.#isAfterCr = isCr;
  }
}

/** The end of the chunk, if it is not there. */
function placeOf(byte: number, chunk: Uint8Array, from: number): number {
  const place = chunk.indexOf(byte, from);
  return place === -1 ? chunk.length : place;
}

/** What a server may send in all before the handshake has ended. */
const handshakeBytes = 4 * 2 ** 20;

interface Reading {
  /** Read event by event: the bound is that of one event. Otherwise it is that of the body, as everything else is read whole. */
  readonly byEvent: boolean;
  /** Called for each part of the body that arrives. */
  readonly onActivity?: (() => void) | undefined;
  /** Called when the bound is exceeded, before the body fails with the error. */
  readonly onExceeded?: ((error: TaskClientError) => void) | undefined;
}

/**
 * How much one connection takes from its server. Invariants: whatever reads the server's words reads a body that is counted here first,
 * after decompression; what goes beyond a bound is cut off and not kept; and its request, or else the connection, ends with an error of
 * code `protocol` that names the bound.
 */
export class AnswerBounds {
  readonly maxAnswerBytes: number;
  /** Why the connection had to end. */
  failure: TaskClientError | undefined;
  /** Undefined once the handshake has ended. */
  #arrivedBefore: number | undefined = 0;

  constructor(maxAnswerBytes: number) {
    this.maxAnswerBytes = maxAnswerBytes;
  }

  handshakeEnded(): void {
    this.#arrivedBefore = undefined;
  }

  /** Throws if this is more than may arrive before the handshake has ended. */
  arrived(bytes: number): void {
    if (this.#arrivedBefore === undefined) return;
    this.#arrivedBefore += bytes;
    if (this.#arrivedBefore > handshakeBytes)
      throw this.#tooMuch("before the handshake had ended", handshakeBytes);
  }

  tooLong(): TaskClientError {
    return this.#tooMuch("in one message (maxAnswerBytes)", this.maxAnswerBytes);
  }

  /** The response with a body that fails beyond the bound. */
  bounded(response: Response, { byEvent, onActivity, onExceeded }: Reading): Response {
    const { body, status, statusText, headers, url } = response;
    onActivity?.();
    if (body === null) return response;
    const event = byEvent ? new EventSize() : undefined;
    let size = 0;
    const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, controller) => {
        onActivity?.();
        size = event?.after(chunk) ?? size + chunk.length;
        try {
          this.arrived(chunk.length);
          if (size > this.maxAnswerBytes) throw this.tooLong();
        } catch (error) {
          if (error instanceof TaskClientError) onExceeded?.(error);
          throw error;
        }
        controller.enqueue(chunk);
      },
    });
    const copy = new Response(body.pipeThrough(counted), { status, statusText, headers });
    // The SDK names a redirect's target by it, and a copy has none.
    return Object.defineProperty(copy, "url", { value: url });
  }

  #tooMuch(where: string, bytes: number): TaskClientError {
    const most = numberKind("size", {}).wordsOf(bytes);
    return new TaskClientError("protocol", `The server sent more than ${most} ${where}`);
  }
}
