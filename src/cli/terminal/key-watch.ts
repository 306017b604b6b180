/** Ctrl-C, which a terminal in raw mode sends as a key instead of a signal. */
const ctrlC = "\u0003";

/**
 * Reads keys, Ctrl-C as one of them. On Windows the terminal would send the signal also to the server process of this command,
 * which is still needed to cancel the task; elsewhere the server has its own process group.
 */
export class KeyWatch implements Disposable {
  readonly #input: NodeJS.ReadStream;
  readonly #onCtrlC: () => void;
  readonly #onKey: (key: string) => void;
  #holders = 0;
  #watches = false;

  /** `onKey` is called for all other keys. */
  constructor(input: NodeJS.ReadStream, onCtrlC: () => void, onKey: (key: string) => void = () => undefined) {
    this.#input = input;
    this.#onCtrlC = onCtrlC;
    this.#onKey = onKey;
    this.#take();
  }

  /** Stops reading keys until the result is disposed. */
  release(): Disposable {
    this.#holders++;
    this.#giveBack();
    return {
      [Symbol.dispose]: () => {
        this.#holders--;
        if (this.#holders === 0) this.#take();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#holders = Number.POSITIVE_INFINITY;
    this.#giveBack();
  }

  #take(): void {
    if (this.#watches) return;
    this.#watches = true;
    this.#input.setRawMode(true);
    this.#input.on("data", this.#onKeys);
    this.#input.resume();
  }

  #giveBack(): void {
    if (!this.#watches) return;
    this.#watches = false;
    this.#input.off("data", this.#onKeys);
    this.#input.pause();
    this.#input.setRawMode(false);
  }

  readonly #onKeys = (bytes: Buffer | string): void => {
    for (const key of bytes.toString()) {
      if (key === ctrlC) this.#onCtrlC();
      else this.#onKey(key);
    }
  };
}
