export type Message = Record<string, unknown>;

/** Where a message of the server came: on the answer to a POST, on the stream of the session, on the pipe. */
export type Place = "json" | "stream of the request" | "stream of the session" | "pipe";

export interface Entry {
  readonly from: "client" | "server";
  readonly on?: Place;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message: Message;
}

/**
 * What goes over a connection. Streams overtake each other, so what came in is noted when the scenario takes it: then
 * a transcript is the same on each run. What is never taken is judged all the same.
 */
export class Transcript {
  readonly entries: Entry[] = [];
  readonly arrived: Entry[] = [];
  #wake: () => void = () => undefined;

  sent(message: Message, headers?: Readonly<Record<string, string>>): void {
    this.entries.push({ from: "client", ...(headers && { headers }), message });
  }

  came(on: Place, message: Message): void {
    this.arrived.push({ from: "server", on, message });
    this.#wake();
  }

  /** The first message that was not taken yet and is such a one. */
  async take(is: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.arrived.find((entry) => !this.entries.includes(entry) && is(entry.message));
      if (found !== undefined) {
        this.entries.push(found);
        return found.message;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
