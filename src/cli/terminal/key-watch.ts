/** The key that a terminal makes a signal of, as long as it is not raw. */
const ctrlC = "\u0003";

/**
 * Reads the keys of a terminal itself, so that it sends no signals. On Windows it would send them to a server too that this
 * command has started, and Ctrl-C would end the one that is to cancel a task; elsewhere a server has a process group of its own.
 */
export class KeyWatch implements Disposable {
  readonly #input: NodeJS.ReadStream;
  readonly #onCtrlC: () => void;
  #holders = 0;
  #watches = false;

  constructor(input: NodeJS.ReadStream, onCtrlC: () => void) {
    this.#input = input;
    this.#onCtrlC = onCtrlC;
    this.#take();
  }

  /** Leaves the keys to somebody else, until that is disposed of. */
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
    for (const key of bytes.toString()) if (key === ctrlC) this.#onCtrlC();
  };
}
