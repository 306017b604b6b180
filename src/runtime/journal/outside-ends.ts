import { HoldfastError } from "../../task/fault.ts";
import type { ListedEntry, TaskStore } from "../../store/store.ts";
import {
  isEndedByOthers,
  type JournalEnd,
  type JournalEndTime,
  type JournalEntry,
} from "../../task/journal.ts";
import type { RuntimeSettings } from "../options.ts";
import { compareEnds } from "./scheduler.ts";
import type { TaskRecord } from "../../task/record.ts";
import { ownOpen } from "../../task/queue.ts";
import { DamagedValue } from "../stored-values.ts";
import type { TaskWriter } from "./piece-writer.ts";

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
   * Reads an entry's end, and settles as `decode` does with it. Rejects with `task_unreadable` if it is missing, or if
   * `decode` finds it damaged.
   */
  async read<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    const end = await this.#take(entry);
    if (end === undefined) throw this.#unreadable(`the journal entry "${entry.key}" is missing`);
    try {
      return decode(end);
    } catch (error) {
      if (error instanceof DamagedValue)
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

type Asker = PromiseWithResolvers<JournalEnd>;

/** An entry that something outside the attempt has ended. */
export interface OutsideEnd {
  readonly time: JournalEndTime;
  /** Its position in the journal. */
  readonly place: number;
  /** Resolves with its end. */
  readonly read: () => Promise<JournalEnd>;
}

interface OpenEntry {
  /** Its position in the journal; undefined until it is there. */
  place: number | undefined;
  /** Undefined if the handler has not reached it in this attempt. */
  asker: Asker | undefined;
}

/**
 * Learns which of a task's questions, calls and waits for events have ended. Others end them, at any time. Every record contains the number
 * of open ones: if it equals what an attempt knows, none has ended unseen, so usually nothing has to be read.
 */
export class OutsideEnds {
  readonly #taskId: string;
  readonly #store: Pick<TaskStore, "get" | "journalEnds" | "journalEntry">;
  readonly #writer: Pick<TaskWriter, "persist">;
  readonly #onEnd: (ended: OutsideEnd, asker: Asker) => void;
  /** Those not known to have ended, including those being written to the journal. */
  readonly #open = new Map<string, OpenEntry>();
  /** Those reported as ended. */
  readonly #reported = new Set<string>();
  /** Those that ended before the handler reached them in this attempt. */
  readonly #unasked = new Map<string, OutsideEnd>();
  /** The newest record seen. */
  #seen: TaskRecord;
  /** The highest version of an end seen. */
  #lastEnd = 0;
  /** After everything that was in the journal when the attempt began. */
  #nextPlace = 0;

  constructor(
    task: TaskRecord,
    entries: readonly ListedEntry[],
    store: Pick<TaskStore, "get" | "journalEnds" | "journalEntry">,
    writer: Pick<TaskWriter, "persist">,
    onEnd: (ended: OutsideEnd, asker: Asker) => void,
  ) {
    this.#taskId = task.id;
    this.#store = store;
    this.#writer = writer;
    this.#onEnd = onEnd;
    this.#seen = task;
    for (const { key, kind, doneAt, doneVersion, place } of entries) {
      if (isEndedByOthers(kind) && doneAt === null) this.#open.set(key, { place, asker: undefined });
      this.#lastEnd = Math.max(this.#lastEnd, doneVersion ?? 0);
      this.#nextPlace = Math.max(this.#nextPlace, place + 1);
    }
  }

  /** True if nothing can have ended unseen up to the highest version seen. */
  get complete(): boolean {
    if (this.#open.size === 0) return true;
    if (this.#reported.size > 0 || this.#seen.version < this.#lastEnd) return false;
    return ownOpen(this.#seen) === this.#open.size;
  }

  /** The keys of those not known to have ended. */
  keys(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** The number of those not known to have ended. */
  get open(): number {
    return this.#open.size;
  }

  /** The handler is about to begin one, or to reach one that has begun. */
  begin(key: string): Asker {
    const asker = Promise.withResolvers<JournalEnd>();
    const ended = this.#unasked.get(key);
    if (ended === undefined) this.#open.set(key, { place: this.#open.get(key)?.place, asker });
    else this.#onEnd(ended, asker);
    return asker;
  }

  /** The entry has been in the journal since the record had this version. */
  opened(key: string, version: number): void {
    const input = this.#open.get(key);
    if (input !== undefined) input.place = this.#nextPlace + version;
  }

  /** A write, or a read, has returned this record. */
  saw(task: TaskRecord): void {
    if (task.version > this.#seen.version) this.#seen = task;
  }

  /** Some of `keys`, or of all, are reported as ended. */
  reportEnded(keys: Iterable<string> = this.#open.keys()): void {
    for (const key of keys) if (this.#open.has(key)) this.#reported.add(key);
  }

  /** Finds all that ended before this call. Rejects if the task cannot be read, or no longer belongs to the attempt. */
  async read(): Promise<void> {
    const reported = [...this.#reported];
    this.#reported.clear();
    await this.#readEntries(reported);
    if (this.complete) return;
    if (this.#seen.version < this.#lastEnd) {
      const record = await this.#writer.persist(() => this.#store.get(this.#taskId));
      if (record !== undefined) this.saw(record);
      if (this.complete) return;
    }
    await this.#readEntries(await this.#endedKeys());
  }

  async #endedKeys(): Promise<readonly string[]> {
    const keys = [...this.#open].flatMap(([key, { place }]) => (place === undefined ? [] : key));
    if (ownOpen(this.#seen) === 0) return keys;
    const ends = await this.#writer.persist(() => this.#store.journalEnds(this.#taskId, keys));
    return ends.filter(({ value, error }) => value !== null || error !== null).map(({ key }) => key);
  }

  async #readEntries(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#readEntry(key)));
  }

  async #readEntry(key: string): Promise<void> {
    const place = this.#open.get(key)?.place;
    if (place === undefined) {
      // Its own write has not been answered: it comes after all that is looked for now, and is read then.
      if (this.#open.has(key)) this.#reported.add(key);
      return;
    }
    let entry: JournalEntry;
    try {
      entry = await this.#entry(key);
    } catch (error) {
      this.#open.get(key)?.asker?.reject(error); // and no other one with it
      return;
    }
    const input = this.#open.get(key);
    if (input === undefined || entry.doneAt === null) return;
    this.#open.delete(key);
    this.#lastEnd = Math.max(this.#lastEnd, entry.doneVersion ?? 0);
    const { doneAt, doneVersion } = entry;
    const ended = { time: { key, doneAt, doneVersion }, place };
    if (input.asker !== undefined) this.#onEnd({ ...ended, read: async () => entry }, input.asker);
    // What it ended with is not kept for a handler that may never come to it.
    else this.#unasked.set(key, { ...ended, read: () => this.#entry(key) });
  }

  async #entry(key: string): Promise<JournalEntry> {
    const entry = await this.#writer.persist(() => this.#store.journalEntry(this.#taskId, key));
    if (entry === undefined) throw new HoldfastError("fenced", `Task ${this.#taskId} was deleted.`);
    return entry;
  }
}
