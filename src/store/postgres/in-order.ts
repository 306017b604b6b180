/** What is done for one name is done in the order in which it was asked for; for several names at once. */
export class InOrder {
  /** The end of what was last asked for, for each name that somebody waits for. */
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const over = done.catch(() => undefined);
    this.#last.set(name, over);
    try {
      return await done;
    } finally {
      if (this.#last.get(name) === over) this.#last.delete(name);
    }
  }
}
