import { boundedRetryAfter } from "../reply/retry.ts";
import { chunksOf, streamOf } from "./streams.ts";

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
