/** One server-sent event, as far as it is of use here. */
export interface ServerEvent {
  readonly data: string;
  /** The newest id on the stream so far. */
  readonly id: string | undefined;
  /** Milliseconds that the server wants between a break and the next try. */
  readonly retryMs: number | undefined;
}

/** Reads server-sent events to the end of the stream; rejects when it breaks. */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let data: string[] = [];
  let id: string | undefined;
  let retryMs: number | undefined;
  for await (const line of readLines(body)) {
    if (line === "") {
      yield { data: data.join("\n"), id, retryMs };
      data = [];
      continue;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") data.push(value);
    else if (field === "id") id = value;
    else if (field === "retry" && /^\d+$/.test(value)) retryMs = Number(value);
  }
}

async function* readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const text = rest + chunk;
    // What may be the first half of a line's end is left for the next chunk.
    const complete = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, complete).split(/\r\n|\r|\n/);
    rest = (lines.pop() ?? "") + text.slice(complete);
    yield* lines;
  }
}
