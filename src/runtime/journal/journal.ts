import type { ListedEntry, TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { JournalEnd } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { EarlierEntries } from "./earlier-entries.ts";
import { EndOrder } from "./end-order.ts";
import { OutsideEnds } from "./outside-ends.ts";
import { JournalSize, type JournalLimits } from "./journal-size.ts";
import type { SlotHolder } from "./slot-holder.ts";

/** Commands that are valid only under the token of a run. */
export type HeldCommandName =
  | "mark"
  | "record_step"
  | "retry_step"
  | "open_input"
  | "close_wait"
  | "sleep"
  | "end_sleep"
  | "call_tool"
  | "wait_event"
  | "update"
  | "append"
  | "retry"
  | "settle";
/** Commands that begin entries which others end. */
export type OpeningCommandName = "open_input" | "call_tool" | "wait_event";
export type HeldCommand<N extends HeldCommandName> = Omit<TaskCommand<N>, "type" | "now" | "id" | "token">;

export interface JournalSetup {
  readonly task: TaskRecord;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  readonly limits: JournalLimits;
  readonly store: TaskStore;
  readonly slot: SlotHolder;
  /** Writes under the token. */
  readonly write: <N extends HeldCommandName>(type: N, command: HeldCommand<N>) => Promise<CommandResult<N>>;
  /** Repeats a call of the store until it answers. */
  readonly persist: <T>(ask: () => Promise<T>) => Promise<T>;
}

/** The journal of a task, as the run that holds it reads and writes it. Entries end in the order of the store. */
export class Journal {
  readonly #write: JournalSetup["write"];
  readonly #earlier: EarlierEntries;
  readonly #size: JournalSize;
  readonly #others: OutsideEnds;
  readonly #ends: EndOrder;

  constructor({ task, entries, limits, store, slot, write, persist }: JournalSetup) {
    this.#write = write;
    this.#earlier = new EarlierEntries(task.id, entries, (keys) =>
      persist(() => store.journalEnds(task.id, keys)),
    );
    this.#size = new JournalSize(limits, entries);
    this.#others = new OutsideEnds({
      task,
      entries,
      store,
      persist,
      onEnd: ({ time, place, read }, asker) => {
        this.#ends.turn(time, place, read).then(
          (end) => {
            this.#size.count(end);
            asker.resolve(end);
          },
          (error: unknown) => asker.reject(error),
        );
      },
    });
    const keys = entries.map(({ key }) => key);
    this.#ends = new EndOrder(keys, task.version, this.#others, slot);
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

  /** Writes the end of a step, and resolves when it is its turn. Rejects with `limit_reached` if it is too large. */
  async recordStep(step: HeldCommand<"record_step">): Promise<void> {
    this.#size.add(step.key, step.value ?? step.error ?? "");
    await this.#ends.ending(this.#write("record_step", step));
  }

  /** The handler sleeps, or waits to retry a step, possibly since an earlier attempt. */
  waits(key: string): void {
    this.#ends.begun(key);
  }

  /** Writes the end of a sleep, and resolves when it is its turn. */
  endSleep(key: string): Promise<void> {
    return this.#ends.ending(this.#write("end_sleep", { key }));
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
    const closing = this.#write("close_wait", { key, error }).then(() => this.#others.reportEnded([key]));
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
