/** The slots as handlers of one principal use them. */
export interface PrincipalSlots {
  /** Resolves when a handler that waited may go on. */
  takeToResume(): Promise<void>;
  give(): void;
}

/**
 * Bounds how many handlers run at once. A handler that waits for a client gives its slot back at once, else as
 * many questions as slots would stop everything. Those that could go on get slots by turns, one of each principal after the other;
 * where tasks wait to be claimed too, every other slot is for these.
 */
export class Slots {
  readonly limit: number;
  /** By principal: whose turn it is comes first. */
  readonly #resuming = new Map<string, (() => void)[]>();
  #used = 0;
  #claimNext = false;
  #claims: () => boolean = () => false;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** `listener` is offered what comes free: true where it takes the slot, to claim a task. */
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
