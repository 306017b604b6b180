import type { Attributes, Counter } from "@opentelemetry/api";

/**
 * Counts what happens to every task, and reports the sums when an SDK collects. Reporting each event would cost as much as finding its
 * sum.
 */
export class Tally {
  readonly #counter: Counter;
  readonly #counts = new Map<string, { readonly attributes: Attributes; count: number }>();

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  /** `key` stands for the attributes, which are created at its first count. */
  add(key: string, attributesOf: () => Attributes): void {
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { attributes: attributesOf(), count: 1 });
    else known.count++;
  }

  flush(): void {
    for (const counted of this.#counts.values()) {
      if (counted.count === 0) continue;
      this.#counter.add(counted.count, counted.attributes);
      counted.count = 0;
    }
  }
}
