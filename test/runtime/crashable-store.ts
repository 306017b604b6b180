import type { TaskStore } from "../../src/store/store.ts";

const never = new Promise<never>(() => undefined);

/**
 * A store whose owner can die: after `crash()` nothing that the old runtime asks is ever answered or written, as if
 * its process were gone, while `successor()` hands the same data to the next one.
 */
export class CrashableStore {
  readonly #inner: TaskStore;
  #crashed = false;
  #unsubscribe: () => void = () => undefined;

  constructor(inner: TaskStore) {
    this.#inner = inner;
  }

  readonly store: TaskStore = {
    open: () => this.#alive(() => Promise.resolve()),
    close: () => this.#alive(() => Promise.resolve()),
    write: (command) => this.#alive(() => this.#inner.write(command)),
    get: (id) => this.#alive(() => this.#inner.get(id)),
    withKeys: (...keys) => this.#alive(() => this.#inner.withKeys(...keys)),
    find: (wire) => this.#alive(() => this.#inner.find(wire)),
    snapshot: (id, isVisible) => this.#alive(() => this.#inner.snapshot(id, isVisible)),
    request: (id) => this.#alive(() => this.#inner.request(id)),
    journal: (id) => this.#alive(() => this.#inner.journal(id)),
    journalEntry: (id, key) => this.#alive(() => this.#inner.journalEntry(id, key)),
    list: (...page) => this.#alive(() => this.#inner.list(...page)),
    unfinished: (after, limit) => this.#alive(() => this.#inner.unfinished(after, limit)),
    due: (now, limit) => this.#alive(() => this.#inner.due(now, limit)),
    nextSweepAt: (after) => this.#alive(() => this.#inner.nextSweepAt(after)),
    subscribe: (listener) => {
      this.#unsubscribe = this.#inner.subscribe(listener);
      return this.#unsubscribe;
    },
  };

  crash(): void {
    this.#crashed = true;
    this.#unsubscribe();
  }

  successor(): CrashableStore {
    return new CrashableStore(this.#inner);
  }

  async #alive<T>(call: () => Promise<T>): Promise<T> {
    if (this.#crashed) return never;
    const answer = await call();
    return this.#crashed ? never : answer;
  }
}
