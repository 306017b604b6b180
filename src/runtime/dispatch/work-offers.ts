interface Offer {
  readonly answer: (tookAll: boolean) => void;
  /** The number of offered tasks that this process is not known to have claimed. */
  missing: number;
}

/**
 * Work that no other process was notified of. Each offer resolves with whether this process took all of it. If it took less, or there may
 * be more than it can take at once, others must be notified.
 */
export class WorkOffers {
  #made: Offer[] = [];
  /** Offers covered by the look in progress. */
  #looked: Offer[] = [];

  /** Offers at least this many tasks. */
  make(tasks: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#made.push({ answer: resolve, missing: tasks });
    return promise;
  }

  /** Call it before asking the store: later offers may be about tasks that the store has passed by then. */
  onLook(): void {
    this.#looked.push(...this.#made);
    this.#made = [];
  }

  /** The store returned `claimed` tasks when asked for `most`. */
  onClaimed(claimed: number, most: number): void {
    let taken = claimed;
    for (const offer of [...this.#looked, ...this.#made]) {
      const ofOffer = Math.min(taken, offer.missing);
      offer.missing -= ofOffer;
      taken -= ofOffer;
    }
    if (claimed < most) this.#answer(({ missing }) => missing === 0);
    else if (most > 1) this.#answer(() => false); // too many for one process to be left to it
  }

  /** No more claims for now. */
  onEnd(): void {
    this.onLook();
    this.#answer(() => false);
  }

  #answer(answer: (offer: Offer) => boolean): void {
    const answered = this.#looked;
    this.#looked = [];
    for (const offer of answered) offer.answer(answer(offer));
  }
}
