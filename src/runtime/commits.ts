import { isStoreFault } from "../task/fault.ts";
import type { Clock } from "./clock.ts";

/** How long a small write shows that the store takes writes, in ms. */
const freshMs = 10_000;

/**
 * Whether the store takes writes. A small one that changes something shows it, until it is too long ago, or any write fails. Reads show
 * nothing, nor do commands that change nothing: on a full disk, and after the end of SQLite's writer thread, they go on.
 */
export class Commits {
  readonly #clock: Pick<Clock, "elapsed">;
  /** When the last small write ended, by the time elapsed; undefined if a write has failed since. */
  #provenAt: number | undefined;

  constructor(clock: Pick<Clock, "elapsed">) {
    this.#clock = clock;
  }

  /** Returns the write, which may fail. */
  watch<T>(write: Promise<T>): Promise<T> {
    write.catch((error: unknown) => {
      if (isStoreFault(error)) this.#provenAt = undefined; // other errors are about what was written
    });
    return write;
  }

  /** The write changes something, whatever the store has. */
  async prove(write: Promise<unknown>): Promise<void> {
    await this.watch(write);
    this.#provenAt = this.#clock.elapsed();
  }

  /** Rejects if the store takes no writes; `probe` makes a small one, if that has to be found out. */
  async assertTaken(probe: () => Promise<unknown>): Promise<void> {
    const ago = this.#clock.elapsed() - (this.#provenAt ?? -Infinity);
    if (ago >= freshMs) await this.prove(probe());
  }
}
