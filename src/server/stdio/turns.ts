/** Runs one thing at a time, in the order of asking. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Settles as `work` does; what fails does not stop those that wait. */
  take(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
