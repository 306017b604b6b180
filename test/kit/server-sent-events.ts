/** The events of a `text/event-stream` response, one at a time, as they arrive. */
export class ServerSentEvents {
  readonly #response: Response;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #text = "";

  /** Locks the body of the response only when it is first read. */
  constructor(response: Response) {
    this.#response = response;
  }

  /** The text of the next event, comments included; undefined at the end of the stream. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end !== -1) {
        const event = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return event;
      }
      this.#reader ??= (this.#response.body as ReadableStream<Uint8Array> | null)?.getReader();
      const read = await this.#reader?.read();
      if (read === undefined || read.done) return undefined;
      this.#text += this.#decoder.decode(read.value, { stream: true });
    }
  }

  async cancel(): Promise<void> {
    await (this.#reader ?? this.#response.body)?.cancel();
  }
}

/** The value of a field of an event; undefined if the event lacks it. */
export function fieldOf(event: string, name: "id" | "data"): string | undefined {
  const line = event.split("\n").find((candidate) => candidate.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}
