/** Clears a line. */
const clear = "\r\u001b[K";

/** How far a command has come, in a line that goes away with its end; nothing where there is no terminal. */
export class Progress implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #shows: boolean;

  constructor(stream: NodeJS.WriteStream, wanted: boolean) {
    this.#stream = stream;
    this.#shows = wanted && stream.isTTY;
  }

  /** The text has no text of others in it. */
  show(text: string): void {
    if (this.#shows) this.#stream.write(`${clear}${text}`);
  }

  [Symbol.dispose](): void {
    if (this.#shows) this.#stream.write(clear);
  }
}
