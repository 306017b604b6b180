import type { ListedEntry, TaskStore } from "../../store/store.ts";
import {
  isEndedByOthers,
  type JournalEnd,
  type JournalEndTime,
  type JournalEntry,
} from "../../task/journal.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { ownOpen } from "../../task/queue.ts";
import type { TaskWriter } from "./held-command.ts";

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
