import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { EndOrder } from "./end-order.ts";
import { InputEnds } from "./input-ends.ts";
import type { SlotHolder } from "./slot-holder.ts";

/** Commands that are valid only under the token of a run. */
export type HeldCommandName =
  "mark" | "record_step" | "open_input" | "close_input" | "sleep" | "end_sleep" | "update" | "settle";
export type HeldCommand<N extends HeldCommandName> = Omit<TaskCommand<N>, "type" | "now" | "id" | "token">;

export interface JournalSetup {
  readonly task: TaskRecord;
  /** What earlier attempts journalled. */
  readonly entries: readonly JournalEntry[];
  readonly store: TaskStore;
  readonly slot: SlotHolder;
  /** Writes under the token. */
  readonly write: <N extends HeldCommandName>(type: N, command: HeldCommand<N>) => Promise<CommandResult<N>>;
  /** Asks the store until it answers. */
  readonly persist: <T>(ask: () => Promise<T>) => Promise<T>;
}

/** The journal of a task, as the run that holds it reads and writes it: what ends in it ends in the order of the store. */
export class Journal {
  readonly #write: JournalSetup["write"];
  readonly #earlier: ReadonlyMap<string, JournalEntry>;
  readonly #places: ReadonlyMap<string, number>;
  readonly #inputs: InputEnds;
  readonly #ends: EndOrder;

  constructor({ task, entries, store, slot, write, persist }: JournalSetup) {
    this.#write = write;
    this.#earlier = new Map(entries.map((entry) => [entry.key, entry]));
    this.#places = new Map(entries.map(({ key }, place) => [key, place]));
    this.#inputs = new InputEnds({
      task,
      entries,
      store,
      persist,
      onEnd: ({ entry, place }, asker) => void this.#ends.turn(entry, place).then(() => asker.resolve(entry)),
    });
    this.#ends = new EndOrder(entries, this.#inputs, slot);
  }

  /** What an earlier attempt journalled under the key. */
  find(key: string): JournalEntry | undefined {
    return this.#earlier.get(key);
  }

  /** Resolves when it is the turn of an entry that ended in an earlier attempt. */
  replayed(entry: JournalEntry): Promise<void> {
    return this.#ends.turn(entry, this.#places.get(entry.key) ?? 0);
  }

  /** Resolves when it is the turn of a step whose end this writes. */
  recordStep(step: HeldCommand<"record_step">): Promise<void> {
    return this.#ends.ending(this.#write("record_step", step));
  }

  /** The handler sleeps, maybe again. */
  sleeps(key: string): void {
    this.#ends.begun(key);
  }

  /** Resolves when it is the turn of a sleep whose end this writes. */
  endSleep(key: string): Promise<void> {
    return this.#ends.ending(this.#write("end_sleep", { key }));
  }

  /** A question is about to be put, or put again: the entry of its end, when it is its turn. */
  ask(key: string): PromiseWithResolvers<JournalEntry> {
    this.#ends.begun(key);
    return this.#inputs.ask(key);
  }

  async openInput(question: HeldCommand<"open_input">): Promise<void> {
    const { key } = question.input;
    const opening = this.#write("open_input", question).then((result) => {
      if (result.ok) this.#inputs.opened(key, result.task.version);
    });
    await this.#ends.pending(opening);
  }

  /** Gives a question up, unless an answer was faster. */
  async closeInput(key: string, error: string): Promise<void> {
    const closing = this.#write("close_input", { key, error }).then(() => this.#inputs.tell([key]));
    await this.#ends.pending(closing);
  }

  /** Questions are said to have ended: those of `keys`, or any. Without this, a record shows it, and all of them are read. */
  answered(keys?: readonly string[]): void {
    this.#inputs.tell(keys);
    this.#ends.look();
  }

  /** The handler may wait for this update of its task. */
  updating(update: Promise<void>): Promise<void> {
    this.#ends.afterUpdate(update);
    return update;
  }

  /** What a write, or a read, has shown of the task. */
  saw(task: TaskRecord): void {
    this.#inputs.saw(task);
    this.#ends.check();
  }
}
