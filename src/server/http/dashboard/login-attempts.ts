const windowMs = 60_000;
const mostAttempts = 10;
/** Maximum number of addresses remembered; the one that tried first is dropped. */
const mostAddresses = 10_000;

interface Attempts {
  count: number;
  readonly until: number;
}

/** Limits attempts to guess tokens to ten a minute. */
export class LoginAttempts {
  readonly #now: () => number;
  readonly #attempts = new Map<string, Attempts>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts an attempt; how long, in ms, its address has to wait before it may make one: 0 is now. */
  begin(address: string): number {
    const now = this.#now();
    const known = this.#attempts.get(address);
    if (known === undefined || known.until <= now) {
      this.#attempts.delete(address);
      const [oldest] = this.#attempts.keys();
      if (oldest !== undefined && this.#attempts.size >= mostAddresses) this.#attempts.delete(oldest);
      this.#attempts.set(address, { count: 1, until: now + windowMs });
      return 0;
    }
    known.count += 1;
    return known.count > mostAttempts ? known.until - now : 0;
  }

  succeeded(address: string): void {
    this.#attempts.delete(address);
  }
}
