/** Clears a line. */
const clear = "\r\u001b[K";

/** A command's progress, in a line that is removed at its end. Shows nothing without a terminal. */
export class Progress implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #shows: boolean;

  constructor(stream: NodeJS.WriteStream, wanted: boolean) {
    this.#stream = stream;
    this.#shows = wanted && stream.isTTY;
  }

  /** The text must not contain text from others. */
  show(text: string): void {
    if (this.#shows) this.#stream.write(`${clear}${text}`);
  }

  [Symbol.dispose](): void {
    if (this.#shows) this.#stream.write(clear);
  }
}
