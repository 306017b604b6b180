import { HoldfastError } from "../../task/fault.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEnd } from "../../task/journal.ts";
import type { RuntimeSettings } from "../options.ts";
import { compareEnds } from "./scheduler.ts";

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
  count({ value, error }: Pick<JournalEnd, "value" | "error">): void {
    this.#bytes += Buffer.byteLength(value ?? "") + Buffer.byteLength(error ?? "");
  }
}

/** Bytes to read at a time, unless a single end is larger. */
const pageBytes = 256 * 1024;

const pageEntries = 200;

/** An entry, and its position among those that have ended. */
interface Earlier {
  readonly entry: ListedEntry;
  readonly rank: number;
}

/**
 * Journal entries of earlier attempts. Their results stay in the store until the handler reaches them. They are read in the order in which
 * they ended, which is that of a replay, and dropped once passed on.
 */
export class EarlierEntries {
  readonly #taskId: string;
  readonly #readEnds: (keys: readonly string[]) => Promise<readonly JournalEnd[]>;
  readonly #byKey = new Map<string, Earlier>();
  readonly #ended: readonly ListedEntry[];
  #ahead = new Map<string, JournalEnd>();
  #readsAhead = true;

  constructor(
    taskId: string,
    entries: readonly ListedEntry[],
    readEnds: (keys: readonly string[]) => Promise<readonly JournalEnd[]>,
  ) {
    this.#taskId = taskId;
    this.#readEnds = readEnds;
    this.#ended = inOrderOfEnds(entries);
    for (const [rank, entry] of this.#ended.entries()) this.#byKey.set(entry.key, { entry, rank });
    for (const entry of entries) if (entry.doneAt === null) this.#byKey.set(entry.key, { entry, rank: -1 });
  }

  find(key: string): ListedEntry | undefined {
    return this.#byKey.get(key)?.entry;
  }

  /** Most of the replay is over: the rest is read one by one, so that a waiting attempt keeps none in memory. */
  stopReadingAhead(): void {
    this.#readsAhead = false;
    this.#ahead.clear();
  }

  /**
   * Reads an entry's end, and settles as `decode` does with it. Rejects with `task_unreadable` if it is missing, or not the JSON that
   * `decode` expects.
   */
  async read<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    const end = await this.#take(entry);
    if (end === undefined) throw this.#unreadable(`the journal entry "${entry.key}" is missing`);
    try {
      return decode(end);
    } catch (error) {
      if (error instanceof SyntaxError)
        throw this.#unreadable(`the journal entry "${entry.key}" is not JSON`);
      throw error;
    }
  }

  async #take({ key, bytes }: ListedEntry): Promise<JournalEnd | undefined> {
    if (bytes === 0) return { key, value: null, error: null }; // a sleep, or a step that returned nothing
    if (!this.#ahead.has(key)) {
      const ends = await this.#readEnds(this.#pageFrom(key));
      this.#ahead = new Map(ends.map((end) => [end.key, end]));
    }
    const end = this.#ahead.get(key);
    this.#ahead.delete(key);
    if (!this.#readsAhead) this.#ahead.clear();
    return end;
  }

  /** The entry's key and those of the entries that ended after it, as many as fit into a page. */
  #pageFrom(key: string): readonly string[] {
    const first = this.#byKey.get(key)?.rank ?? -1;
    const keys = [key];
    if (!this.#readsAhead || first < 0) return keys;
    let bytes = this.#ended[first]?.bytes ?? 0;
    for (const next of this.#ended.slice(first + 1, first + pageEntries)) {
      bytes += next.bytes;
      if (bytes > pageBytes) break;
      if (next.bytes > 0) keys.push(next.key);
    }
    return keys;
  }

  #unreadable(problem: string): HoldfastError {
    return new HoldfastError("task_unreadable", `Task ${this.#taskId} cannot be read: ${problem}.`);
  }
}

/** The entries that have ended, in the order of their ends. */
function inOrderOfEnds(entries: readonly ListedEntry[]): readonly ListedEntry[] {
  return entries
    .filter(({ doneAt }) => doneAt !== null)
    .map((entry) => ({ entry, version: entry.doneVersion ?? 0, place: entry.place }))
    .sort(compareEnds)
    .map(({ entry }) => entry);
}
