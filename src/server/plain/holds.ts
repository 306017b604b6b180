interface Entry {
  waiting: number;
  /** Somebody was told how to come back for the task, so that it is theirs to cancel. */
  kept: boolean;
}

/** One call that waits for a task. */
export interface Hold {
  /** The caller was told how to come back. */
  keep(): void;
  /** The call waits no longer. True where nobody is left who waits, or who was told how to come back. */
  leave(): boolean;
}

/** Which calls of this process wait for which tasks: a caller that leaves ends the task only where nobody else wants it. */
export class Holds {
  readonly #entries = new Map<string, Entry>();

  /**
   * `kept`: somebody who does not wait now may want the task. `"unless_known"`: nobody can say, but those who wait for it
   * since it was made were told nothing yet.
   */
  enter(id: string, kept: boolean | "unless_known"): Hold {
    const entry = this.#entries.get(id) ?? { waiting: 0, kept: kept !== false };
    this.#entries.set(id, entry);
    entry.waiting += 1;
    entry.kept ||= kept === true;
    let left = false;
    return {
      keep: () => void (entry.kept = true),
      leave: () => {
        if (left) return false;
        left = true;
        entry.waiting -= 1;
        if (entry.waiting > 0) return false;
        this.#entries.delete(id);
        return !entry.kept;
      },
    };
  }
}
