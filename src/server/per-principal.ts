/** Whom something belongs to; null is all callers that the server does not tell apart, as one. */
export type Principal = string | null;

/** Things by the principal that has them, so that the principal with most is the first to give something up. */
export class PerPrincipal<T> {
  readonly #things = new Map<Principal, Set<T>>();
  #size = 0;

  /** Of all principals together. */
  get size(): number {
    return this.#size;
  }

  add(principal: Principal, thing: T): void {
    const things = this.#things.get(principal) ?? new Set();
    this.#things.set(principal, things);
    if (things.has(thing)) return;
    things.add(thing);
    this.#size += 1;
  }

  /** Does nothing if the principal does not have it. */
  remove(principal: Principal, thing: T): void {
    const things = this.#things.get(principal);
    if (things?.delete(thing) !== true) return;
    this.#size -= 1;
    if (things.size === 0) this.#things.delete(principal);
  }

  /** What the principal has, oldest first. */
  of(principal: Principal): ReadonlySet<T> {
    return this.#things.get(principal) ?? new Set();
  }

  count(principal: Principal): number {
    return this.of(principal).size;
  }

  /** What the principal with most has, oldest first; empty if there is nothing. */
  get largest(): ReadonlySet<T> {
    let largest: ReadonlySet<T> = new Set();
    for (const things of this.#things.values()) if (things.size > largest.size) largest = things;
    return largest;
  }
}
