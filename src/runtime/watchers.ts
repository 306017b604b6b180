import type { TaskChange } from "../store/store.ts";

/** Called when a task changed, without details: read it again. Must not throw. */
export type Watcher = (id: string) => void;

/** Watchers by task. A change only costs its own watchers, however many others there are. */
export class Watchers {
  readonly #byTask = new Map<string, Set<{ readonly watcher: Watcher }>>();

  /** Calls `watcher` after every committed change of these tasks; returns a function that stops it. */
  watch(ids: readonly string[], watcher: Watcher): () => void {
    // An object of its own, so that one function can watch twice and stop once.
    const watch = { watcher };
    for (const id of ids) {
      const watches = this.#byTask.get(id) ?? new Set();
      this.#byTask.set(id, watches.add(watch));
    }
    return () => {
      for (const id of ids) {
        const watches = this.#byTask.get(id);
        watches?.delete(watch);
        if (watches?.size === 0) this.#byTask.delete(id);
      }
    };
  }

  onChanges(changes: readonly TaskChange[] | "gap"): void {
    const ids = changes === "gap" ? [...this.#byTask.keys()] : changes.map(({ id }) => id);
    for (const id of ids) {
      for (const { watcher } of this.#byTask.get(id) ?? []) watcher(id);
    }
  }
}
