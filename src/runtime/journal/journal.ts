import type { ListedEntry } from "../../store/store.ts";
import type { CommandResult } from "../../task/command.ts";
import type { JournalEnd } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { EndOrder, inOrderOfEnds, type End } from "./end-order.ts";
import type { HeldCommand, OpeningCommandName, TaskWriter } from "./held-command.ts";
import { OutsideEnds } from "./outside-ends.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SlotHolder } from "./slot-holder.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Services } from "../services.ts";

/** The journal of a task, as the run that holds it reads and writes it. Entries end in the order of the store. */
export class Journal {
  readonly #writer: TaskWriter;
  readonly #earlier: EarlierEntries;
  readonly #size: JournalSize;
  readonly #others: OutsideEnds;
  readonly #ends: EndOrder;

  /** `entries` are those of earlier attempts. */
  constructor(
    task: TaskRecord,
    entries: readonly ListedEntry[],
    { store, options }: Pick<Services, "store" | "options">,
    scheduler: Scheduler<End>,
    slot: SlotHolder,
    writer: TaskWriter,
  ) {
    this.#writer = writer;
    this.#earlier = new EarlierEntries(task.id, entries, (keys) =>
      writer.persist(() => store.journalEnds(task.id, keys)),
    );
    this.#size = new JournalSize(options, entries);
    this.#others = new OutsideEnds(task, entries, store, writer, ({ time, place, read }, asker) => {
      this.#ends.turn(time, place, read).then(
        (end) => {
          this.#size.count(end);
          asker.resolve(end);
        },
        (error: unknown) => asker.reject(error),
      );
    });
    const keys = entries.map(({ key }) => key);
    this.#ends = new EndOrder(keys, task.version, scheduler, this.#others, slot);
  }

  /** The number of open questions, calls and waits for events; undefined if one has ended that the handler has not seen. */
  get open(): number | undefined {
    return this.#ends.isQuiet ? this.#others.open : undefined;
  }

  /** An earlier attempt's entry with this key. */
  find(key: string): ListedEntry | undefined {
    return this.#earlier.find(key);
  }

  /** Settles as `decode` does with an earlier attempt's end of an entry, when it is its turn. */
  replayed<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    return this.#ends.turn(entry, entry.place, () => this.#earlier.read(entry, decode));
  }

  /** The handler is about to begin something that has not ended; `isNew`: it is not in the journal yet. Throws `limit_reached`. */
  begin(isNew: boolean): void {
    if (isNew) this.#size.addEntry();
    this.#earlier.stopReadingAhead();
  }

  /**
   * Writes the end of a step, and resolves when it is its turn. Rejects with `limit_reached` if it is too large, unless it says just that
   * (`isRefusal`): the step has run, and must not run again because of the limit.
   */
  async recordStep(step: HeldCommand<"record_step">, isRefusal = false): Promise<void> {
    if (isRefusal) this.#size.count(step);
    else this.#size.add(step.key, step.value ?? step.error ?? "");
    await this.#ends.ending(this.#writer.write("record_step", step));
  }

  /** The handler sleeps, or waits to retry a step, possibly since an earlier attempt. */
  waits(key: string): void {
    this.#ends.begun(key);
  }

  /** Writes the end of a sleep, and resolves when it is its turn. */
  endSleep(key: string): Promise<void> {
    return this.#ends.ending(this.#writer.write("end_sleep", { key }));
  }

  /** An entry that others end is about to begin, or is reached again: its end, when it is its turn. */
  awaitEnd(key: string): PromiseWithResolvers<JournalEnd> {
    this.#ends.begun(key);
    return this.#others.begin(key);
  }

  /** Reserves room for a text in the journal; throws `limit_reached` if it is too large. */
  addText(key: string, text: string): void {
    this.#size.add(key, text);
  }

  /** Waits for the write that begins an entry which others end. */
  async opening(key: string, write: Promise<CommandResult<OpeningCommandName>>): Promise<void> {
    const opening = write.then((result) => {
      if (result.ok) this.#others.opened(key, result.task.version);
    });
    await this.#ends.pending(opening);
  }

  /** Times out a question or a wait for an event, unless it ended first. */
  async closeWait(key: string, error: string): Promise<void> {
    const closing = this.#writer
      .write("close_wait", { key, error })
      .then(() => this.#others.reportEnded([key]));
    await this.#ends.pending(closing);
  }

  /** Others have ended the entries with these `keys`, or any. Without this call, a record shows it, and all of them are read. */
  ended(keys?: readonly string[]): void {
    this.#others.reportEnded(keys);
    this.#ends.look();
  }

  /** Resolves when current writes are in the journal, or were refused. */
  written(): Promise<void> {
    return this.#ends.written();
  }

  /** The handler may wait for this update of its task. */
  updating(update: Promise<void>): Promise<void> {
    this.#ends.afterUpdate(update);
    return update;
  }

  /** A write, or a read, has returned this record. */
  saw(task: TaskRecord): void {
    this.#others.saw(task);
    this.#ends.check();
  }
}

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
