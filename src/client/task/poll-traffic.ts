import { unlessAborted } from "../unless-aborted.ts";

/** Polls of one client that are under way at the same time: each holds a connection of its own over HTTP. */
const mostAtOnce = 64;
/** The polls of one client come to no more than 200 a second, however many tasks it waits for. */
const msPerTask = 5;

/** Keeps the polls of one client, which know nothing of each other, from becoming too many. */
export class PollTraffic {
  readonly #queue = new Set<() => void>();
  #tasks = 0;
  #underWay = 0;

  /** Milliseconds between two polls of one task, for the sake of all the others. */
  get intervalMs(): number {
    return this.#tasks * msPerTask;
  }

  /** Counts one more task that is polled; returns the way out. */
  enter(): () => void {
    this.#tasks++;
    return () => void this.#tasks--;
  }

  /** Resolves, with the way out, when there is a place for a poll; rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#underWay < mostAtOnce) this.#underWay++;
    else await this.#place(signal);
    return () => this.#free();
  }

  async #place(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const take = (): void => {
      this.#queue.delete(take);
      resolve();
    };
    this.#queue.add(take);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // The place may have come together with the abort.
      if (!this.#queue.delete(take)) this.#free();
      throw error;
    }
  }

  /** The place goes over to the next, so that nobody who comes now is faster than who waits. */
  #free(): void {
    const [next] = this.#queue;
    if (next === undefined) this.#underWay--;
    else next();
  }
}
