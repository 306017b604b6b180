/** The slots for handlers of one principal. */
export interface PrincipalSlots {
  /** Resolves when a handler that waited may continue. */
  takeToResume(): Promise<void>;
  give(): void;
}

/**
 * Limits how many handlers run at the same time. A handler that waits for a client frees its slot at once; otherwise, as many questions as
 * slots would block everything. Handlers ready to continue get slots in turns, one per principal. If tasks wait to be claimed too, they get
 * every other slot.
 */
export class Slots {
  readonly limit: number;
  /** By principal, the next one first. */
  readonly #resuming = new Map<string, (() => void)[]>();
  #used = 0;
  #claimNext = false;
  #claims: () => boolean = () => false;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Offers each free slot to `listener`, which returns true if it takes the slot to claim a task. */
  onFree(listener: () => boolean): void {
    this.#claims = listener;
  }

  get used(): number {
    return this.#used;
  }

  get hasFree(): boolean {
    return this.#used < this.limit;
  }

  tryTake(): boolean {
    if (this.#used >= this.limit) return false;
    this.#used++;
    return true;
  }

  of(principal: string | null): PrincipalSlots {
    return { takeToResume: () => this.#takeToResume(principal ?? ""), give: () => this.give() };
  }

  give(): void {
    const isForClaim = this.#claimNext || this.#resuming.size === 0;
    if (isForClaim && this.#claims()) {
      this.#claimNext = false;
      return;
    }
    const resume = this.#nextToResume();
    if (resume === undefined) {
      this.#used--;
      return;
    }
    this.#claimNext = true;
    resume();
  }

  #takeToResume(principal: string): Promise<void> {
    if (this.tryTake()) return Promise.resolve();
    const waiting = this.#resuming.get(principal) ?? [];
    this.#resuming.set(principal, waiting);
    return new Promise((resolve) => waiting.push(resolve));
  }

  #nextToResume(): (() => void) | undefined {
    for (const [principal, waiting] of this.#resuming) {
      const next = waiting.shift();
      this.#resuming.delete(principal);
      if (waiting.length > 0) this.#resuming.set(principal, waiting);
      return next;
    }
    return undefined;
  }
}
