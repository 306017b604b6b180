interface Entry<T> {
  readonly value: T;
  readonly from: number;
  readonly until: number;
}

/** A limited number of values, each with its own expiry. The least recently used one makes room. */
export class ExpiringCache<T> {
  readonly #maxEntries: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry<T>>();

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    // A clock that is put back makes nothing last longer.
    if (now < entry.from || now >= entry.until) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  set(key: string, value: T, from: number, until: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, from, until });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(oldest);
    }
  }
}
