import type { HandlerChanges } from "./handler-changes.ts";

interface Pending {
  changes: HandlerChanges;
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Writes what a handler changes of its task, which may be as often as it likes: one write is under way at a time, and of
 * the changes that come meanwhile the last of each kind is in the next one.
 */
export class HandlerUpdates {
  readonly #write: (changes: HandlerChanges) => Promise<void>;
  readonly #underWay = new Set<Promise<void>>();
  #pending: Pending | undefined;

  constructor(write: (changes: HandlerChanges) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves once these changes, or later ones in their place, are committed. The handler may leave it alone. */
  update(changes: HandlerChanges): Promise<void> {
    if (this.#pending === undefined) {
      const written = Promise.withResolvers<void>();
      written.promise.catch(() => undefined);
      this.#pending = { changes, written };
    } else this.#pending.changes = { ...this.#pending.changes, ...changes };
    const { promise } = this.#pending.written;
    if (this.#underWay.size === 0) this.flush();
    return promise;
  }

  /** Begins to write what is pending, so that a write that comes now comes after it. */
  flush(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    const { resolve, reject } = pending.written;
    const write = this.#write(pending.changes)
      .then(resolve, reject)
      .finally(() => {
        this.#underWay.delete(write);
        if (this.#underWay.size === 0) this.flush();
      });
    this.#underWay.add(write);
  }

  /** Resolves when what was changed so far is written, or has failed. */
  async written(): Promise<void> {
    this.flush();
    await Promise.all(this.#underWay);
  }
}
