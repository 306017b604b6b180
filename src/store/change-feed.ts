import type { ChangedBy, TaskChange } from "./store.ts";

type Listener<Change> = (changes: readonly Change[] | "gap", by: ChangedBy) => void;

/** Tells listeners what was committed: of tasks, or of something else. */
export class ChangeFeed<Change = TaskChange> {
  readonly #listeners = new Set<{ readonly listener: Listener<Change> }>();

  subscribe(listener: Listener<Change>): () => void {
    // A wrapper of its own, so that one function can subscribe twice and stop once.
    const subscription = { listener };
    this.#listeners.add(subscription);
    return () => void this.#listeners.delete(subscription);
  }

  /** Call it after the commit. A listener that throws affects neither the store nor other listeners. */
  publish(changes: readonly Change[] | "gap", by: ChangedBy): void {
    if (changes.length === 0) return;
    // A copy: a listener that subscribes another one must not have it told of what came before.
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
