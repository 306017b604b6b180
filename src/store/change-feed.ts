import type { ChangedBy, TaskChange } from "./store.ts";

type Listener<Change> = (changes: readonly Change[] | "gap", by: ChangedBy) => void;

/** Tells listeners about commits. */
export class ChangeFeed<Change = TaskChange> {
  readonly #listeners = new Set<{ readonly listener: Listener<Change> }>();

  subscribe(listener: Listener<Change>): () => void {
    // A separate wrapper, so that a function can subscribe twice and unsubscribe once.
    const subscription = { listener };
    this.#listeners.add(subscription);
    return () => void this.#listeners.delete(subscription);
  }

  /** Call it after the commit. A listener that throws affects neither the store nor other listeners. */
  publish(changes: readonly Change[] | "gap", by: ChangedBy): void {
    if (changes.length === 0) return;
    // A copy: a listener subscribed by another one must not get earlier changes.
    for (const subscription of Array.from(this.#listeners)) {
      if (!this.#listeners.has(subscription)) continue;
      try {
        subscription.listener(changes, by);
      } catch (error) {
        process.emitWarning(`A listener of the store threw: ${String(error)}`, "HoldfastWarning");
      }
    }
  }
}
