interface Offer {
  readonly answer: (tookAll: boolean) => void;
  /** How many of its tasks this process has not claimed, as far as it knows. */
  missing: number;
}

/**
 * Work that nobody else was told of. Each offer is answered with whether this process took what there was; where it took less, or there may be more than it
 * can take at once, others have to be told.
 */
export class WorkOffers {
  #made: Offer[] = [];
  /** Those that the look covers which is under way. */
  #looked: Offer[] = [];

  /** Of at least so many tasks. */
  make(tasks: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#made.push({ answer: resolve, missing: tasks });
    return promise;
  }

  /** To be called before the store is asked: what is offered later may be about something that the store passes now. */
  onLook(): void {
    this.#looked.push(...this.#made);
    this.#made = [];
  }

  /** The store gave `claimed` tasks where it was asked for `most`. */
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

  /** Nothing more is claimed for now. */
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
