import type { ListedEntry } from "../../store/store.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd } from "../../task/journal.ts";
import type { RuntimeOptions } from "../options.ts";

export type JournalLimits = Pick<RuntimeOptions, "maxJournalEntries" | "maxJournalBytes">;

/** How large a task's journal is, and how large it may become. */
export class JournalSize {
  readonly #limits: JournalLimits;
  #entries: number;
  #bytes = 0;

  constructor(limits: JournalLimits, entries: readonly ListedEntry[]) {
    this.#limits = limits;
    this.#entries = entries.length;
    for (const { bytes } of entries) this.#bytes += bytes;
  }

  /** Room for one more entry, for which it throws `limit_reached` where there is none. */
  addEntry(): void {
    const { maxJournalEntries } = this.#limits;
    if (this.#entries >= maxJournalEntries) {
      throw new HoldfastError(
        "limit_reached",
        `This task has begun ${this.#entries} steps, questions, sleeps, calls and waits for events, and maxJournalEntries is ${maxJournalEntries}. ` +
          "Do more in each step, split the work into several tasks, or raise maxJournalEntries.",
      );
    }
    this.#entries++;
  }

  /** Room for a text of the entry `key`, for which it throws `limit_reached` where there is none. */
  add(key: string, text: string): void {
    const { maxJournalBytes } = this.#limits;
    const bytes = this.#bytes + Buffer.byteLength(text);
    if (bytes > maxJournalBytes) {
      throw new HoldfastError(
        "limit_reached",
        `With "${key}" the journal of this task would have ${bytes} bytes, and maxJournalBytes is ${maxJournalBytes}. ` +
          "Return less from steps, such as where the data is instead of the data itself, or raise maxJournalBytes.",
      );
    }
    this.#bytes = bytes;
  }

  /** What others have added, whether or not there was room for it. */
  count({ value, error }: JournalEnd): void {
    this.#bytes += Buffer.byteLength(value ?? "") + Buffer.byteLength(error ?? "");
  }
}
