import type { ListedEntry } from "../../store/store.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd } from "../../task/journal.ts";
import type { RuntimeSettings } from "../options.ts";

export type JournalLimits = Pick<RuntimeSettings, "maxJournalEntries" | "maxJournalBytes">;

/** The size of a task's journal, and its limit. */
export class JournalSize {
  readonly #limits: JournalLimits;
  #entries: number;
  #bytes = 0;

  constructor(limits: JournalLimits, entries: readonly ListedEntry[]) {
    this.#limits = limits;
    this.#entries = entries.length;
    for (const { bytes } of entries) this.#bytes += bytes;
  }

  /** Reserves room for one more entry; throws `limit_reached` if there is none. */
  addEntry(): void {
    const { maxJournalEntries } = this.#limits;
    if (this.#entries >= maxJournalEntries) {
      throw new HoldfastError(
        "limit_reached",
        `This task has already started ${this.#entries} steps, questions, sleeps, calls and waits for events, and maxJournalEntries is ${maxJournalEntries}. ` +
          "Do more in each step, split the work into several tasks, or raise maxJournalEntries.",
      );
    }
    this.#entries++;
  }

  /** Reserves room for a text of the entry `key`; throws `limit_reached` if there is none. */
  add(key: string, text: string): void {
    const { maxJournalBytes } = this.#limits;
    const bytes = this.#bytes + Buffer.byteLength(text);
    if (bytes > maxJournalBytes) {
      throw new HoldfastError(
        "limit_reached",
        `With "${key}", the journal of this task would grow to ${bytes} bytes, and maxJournalBytes is ${maxJournalBytes}. ` +
          "Return less from steps, such as a reference to the data instead of the data itself, or raise maxJournalBytes.",
      );
    }
    this.#bytes = bytes;
  }

  /** Counts what others have added, even beyond the limit. */
  count({ value, error }: JournalEnd): void {
    this.#bytes += Buffer.byteLength(value ?? "") + Buffer.byteLength(error ?? "");
  }
}
