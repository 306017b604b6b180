import type { ListedEntry, TaskStore } from "../../store/store.ts";
import type { JournalEnd, JournalEndTime, JournalEntry } from "../../task/journal.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";

type Asker = PromiseWithResolvers<JournalEnd>;

/** A question that has ended. */
export interface EndedInput {
  readonly time: JournalEndTime;
  /** Its place in the journal. */
  readonly place: number;
  /** Resolves with the answer, or with what stands for none. */
  readonly read: () => Promise<JournalEnd>;
}

interface OpenInput {
  /** Its place in the journal; undefined until it is there. */
  place: number | undefined;
  /** Undefined where the handler has not come to the question in this attempt. */
  asker: Asker | undefined;
}

export interface InputEndsSetup {
  readonly task: TaskRecord;
  readonly entries: readonly ListedEntry[];
  readonly store: Pick<TaskStore, "get" | "snapshot" | "journalEntry">;
  /** Asks the store until it answers. */
  readonly persist: <T>(ask: () => Promise<T>) => Promise<T>;
  readonly onEnd: (ended: EndedInput, asker: Asker) => void;
}

/**
 * Learns which of a task's questions have ended: others answer them, at any time. Every record says how many are open: as
 * many as an attempt knows to be open means that none has ended unseen, so that mostly nothing has to be read.
 */
export class InputEnds {
  readonly #setup: InputEndsSetup;
  /** Those that are not known to have ended, also while they are on their way into the journal. */
  readonly #open = new Map<string, OpenInput>();
  /** Those that are said to have ended. */
  readonly #told = new Set<string>();
  /** Ended before the handler came to them in this attempt. */
  readonly #unasked = new Map<string, EndedInput>();
  /** The newest record that was seen. */
  #seen: TaskRecord;
  /** The highest version of an end that was seen. */
  #lastEnd = 0;
  /** Behind all that was in the journal when the attempt began. */
  #nextPlace = 0;

  constructor(setup: InputEndsSetup) {
    this.#setup = setup;
    this.#seen = setup.task;
    for (const { key, kind, doneAt, doneVersion, place } of setup.entries) {
      if (kind === "input" && doneAt === null) this.#open.set(key, { place, asker: undefined });
      this.#lastEnd = Math.max(this.#lastEnd, doneVersion ?? 0);
      this.#nextPlace = Math.max(this.#nextPlace, place + 1);
    }
  }

  /** True where no question can have ended unseen up to the highest version that was seen. */
  get complete(): boolean {
    if (this.#open.size === 0) return true;
    const { version, openInputs } = this.#seen;
    if (this.#told.size > 0 || version < this.#lastEnd) return false;
    return openInputs === this.#open.size;
  }

  /** How many questions are not known to have ended. */
  get open(): number {
    return this.#open.size;
  }

  /** The handler is about to put a question, or to put it again. */
  ask(key: string): Asker {
    const asker = Promise.withResolvers<JournalEnd>();
    const ended = this.#unasked.get(key);
    if (ended === undefined) this.#open.set(key, { place: this.#open.get(key)?.place, asker });
    else this.#setup.onEnd(ended, asker);
    return asker;
  }

  /** A question is in the journal since the record had this version. */
  opened(key: string, version: number): void {
    const input = this.#open.get(key);
    if (input !== undefined) input.place = this.#nextPlace + version;
  }

  /** What a write, or a read, has shown of the task. */
  saw(task: TaskRecord): void {
    if (task.version > this.#seen.version) this.#seen = task;
  }

  /** Questions are said to have ended: those of `keys`, or any. */
  tell(keys: Iterable<string> = this.#open.keys()): void {
    for (const key of keys) if (this.#open.has(key)) this.#told.add(key);
  }

  /** Finds all that ended before this was called. Rejects where the task cannot be read, or is no longer the attempt's. */
  async read(): Promise<void> {
    const { store, persist, task } = this.#setup;
    const told = [...this.#told];
    this.#told.clear();
    await this.#readEntries(told);
    if (this.complete) return;
    if (this.#seen.version < this.#lastEnd) {
      const record = await persist(() => store.get(task.id));
      if (record !== undefined) this.saw(record);
      if (this.complete) return;
    }
    const open = new Set(this.#seen.openInputs === 0 ? [] : await this.#readOpen());
    const others = [...this.#open].filter(([key, { place }]) => place !== undefined && !open.has(key));
    await this.#readEntries(others.map(([key]) => key));
  }

  async #readOpen(): Promise<readonly string[]> {
    const { store, persist, task } = this.#setup;
    const snapshot = await persist(() => store.snapshot(task.id));
    if (snapshot === undefined) return [];
    this.saw(snapshot.task);
    return snapshot.inputs.map(({ key }) => key);
  }

  async #readEntries(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#readEntry(key)));
  }

  async #readEntry(key: string): Promise<void> {
    const { onEnd } = this.#setup;
    const place = this.#open.get(key)?.place;
    if (place === undefined) {
      // Its own write has not been answered: it comes after all that is looked for now, and is read then.
      if (this.#open.has(key)) this.#told.add(key);
      return;
    }
    let entry: JournalEntry;
    try {
      entry = await this.#entry(key);
    } catch (error) {
      this.#open.get(key)?.asker?.reject(error); // and no other question with it
      return;
    }
    const input = this.#open.get(key);
    if (input === undefined || entry.doneAt === null) return;
    this.#open.delete(key);
    this.#lastEnd = Math.max(this.#lastEnd, entry.doneVersion ?? 0);
    const { doneAt, doneVersion } = entry;
    const ended = { time: { key, doneAt, doneVersion }, place };
    if (input.asker !== undefined) onEnd({ ...ended, read: async () => entry }, input.asker);
    // The answer is not kept for a handler that may never come to the question.
    else this.#unasked.set(key, { ...ended, read: () => this.#entry(key) });
  }

  async #entry(key: string): Promise<JournalEntry> {
    const { store, persist, task } = this.#setup;
    const entry = await persist(() => store.journalEntry(task.id, key));
    if (entry === undefined) throw new HoldfastError("fenced", `Task ${task.id} was deleted.`);
    return entry;
  }
}
