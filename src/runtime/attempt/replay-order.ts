interface Ended {
  readonly at: number;
  readonly order: number;
  readonly go: () => void;
}

/**
 * Lets the calls of an earlier attempt end again in the order in which they ended then, one at a time, so that a
 * `Promise.race` over them takes the same branch on a replay.
 */
export class ReplayOrder {
  #ended: Ended[] = [];
  #scheduled = false;

  /** Resolves when it is the turn of what ended at `at` (epoch ms); `order` tells equal times apart. */
  turn(at: number, order: number): Promise<void> {
    return new Promise((go) => {
      this.#ended.push({ at, order, go });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After all that the handler begins in one go, and after all that the call before set going.
    setImmediate(() => {
      this.#scheduled = false;
      this.#ended.sort((a, b) => b.at - a.at || b.order - a.order);
      this.#ended.pop()?.go();
      if (this.#ended.length > 0) this.#schedule();
    });
  }
}
