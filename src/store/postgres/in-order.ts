/** Runs work for the same name in the order of its requests. Work can have several names. */
export class InOrder {
  /** The end of the last requested work, for each name with waiting work. */
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
