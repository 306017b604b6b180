/** Work that no caller waits for, so that closing the client can. */
export class BackgroundWork {
  readonly #running = new Set<Promise<unknown>>();

  readonly run = (work: Promise<unknown>): void => {
    const tracked = work.catch(() => undefined).finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  };

  /** Resolves when nothing is left: work that ends can start further work, such as removing a call from the store. */
  async end(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
