/** Runs a limited number of jobs at the same time; further ones wait in a queue. */
export class ConcurrencyLimit {
  readonly #most: number;
  readonly #queue: (() => void)[] = [];
  #active = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#active < this.#most) this.#active++;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#active--;
      else next();
    }
  }
}
