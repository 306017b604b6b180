/** Who holds something: a principal; null is everybody who is not told apart, as one. */
export type Holder = string | null;

/** Things of one kind by who holds them, so that the one who has most is the first to give something up. */
export class Shares<T> {
  readonly #held = new Map<Holder, Set<T>>();
  #size = 0;

  /** Of all holders together. */
  get size(): number {
    return this.#size;
  }

  add(holder: Holder, thing: T): void {
    const held = this.#held.get(holder) ?? new Set();
    this.#held.set(holder, held);
    if (held.has(thing)) return;
    held.add(thing);
    this.#size += 1;
  }

  /** Does nothing where the holder has it no more. */
  remove(holder: Holder, thing: T): void {
    const held = this.#held.get(holder);
    if (held?.delete(thing) !== true) return;
    this.#size -= 1;
    if (held.size === 0) this.#held.delete(holder);
  }

  /** What the holder has, the oldest first. */
  of(holder: Holder): ReadonlySet<T> {
    return this.#held.get(holder) ?? new Set();
  }

  count(holder: Holder): number {
    return this.of(holder).size;
  }

  /** What the holder has who has most, the oldest first; empty where nobody has anything. */
  get largest(): ReadonlySet<T> {
    let largest: ReadonlySet<T> = new Set();
    for (const held of this.#held.values()) if (held.size > largest.size) largest = held;
    return largest;
  }
}
