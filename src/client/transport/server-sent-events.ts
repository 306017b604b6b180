import { boundedRetryAfter } from "../reply/retry.ts";

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
  let rest = "";
  /** Whether the chunk ended with CR: an LF at the start of the next one belongs to it. */
  let half = false;
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    if (chunk === "") continue;
    const text = rest + (half && chunk.startsWith("\n") ? chunk.slice(1) : chunk);
    half = chunk.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
