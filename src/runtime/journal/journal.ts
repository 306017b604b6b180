import type { CommandResult } from "../../task/command.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEnd, JournalEndTime } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { nextTurn } from "../wait-for.ts";
import type { Services } from "../services.ts";
import { EarlierEntries, JournalSize, OutsideEnds } from "./outside-ends.ts";
import type { HeldCommand, OpeningCommandName, TaskWriter } from "./piece-writer.ts";
import type { Position, Scheduler } from "./scheduler.ts";
import type { SlotHolder } from "./slot-holder.ts";

/** An end that the handler has not seen yet. */
export interface End extends Position {
  /** Reads the entry's end. It never rejects; undefined if nothing needs to be read any more. */
  read: (() => Promise<void>) | undefined;
  readonly release: () => void;
}

type EndResult = CommandResult<"record_step" | "end_sleep">;

/** Maximum number of rounds for which a handler that keeps changing its task can delay its own replay. */
const mostRounds = 16;

/**
 * The journal of a task, as the run that holds it reads and writes it. It tells the scheduler of the ends of steps, questions and sleeps, and
 * delivers them as that decides: one per turn of the event loop, so that the handler reacts to one before it sees the next.
 */
export class Journal {
  readonly #writer: TaskWriter;
  readonly #earlier: EarlierEntries;
  readonly #size: JournalSize;
  readonly #others: OutsideEnds;
  readonly #scheduler: Scheduler<End>;
  readonly #slot: SlotHolder;
  /** Writes in progress that may end something, or that open or close a question. */
  readonly #writes = new Set<Promise<unknown>>();
  /** Those of the writes that end something. */
  #endings = 0;
  /** Earlier attempts' entries that this one has not reached yet. */
  readonly #unreplayed: Set<string>;
  /** Changes of the task that the handler may wait for. */
  readonly #updates = new Set<Promise<unknown>>();
  #pauses = 0;
  #running = false;
  #justReleased = false;

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
      this.#turn(time, place, read).then(
        (end) => {
          this.#size.count(end);
          asker.resolve(end);
        },
        (error: unknown) => asker.reject(error),
      );
    });
    this.#scheduler = scheduler;
    this.#slot = slot;
    this.#unreplayed = new Set(entries.map(({ key }) => key));
    scheduler.learned(task.version);
  }

  /** The number of open questions, calls and waits for events; undefined if one has ended that the handler has not seen. */
  get open(): number | undefined {
    const isQuiet = this.#scheduler.isEmpty && !this.#running && this.#endings === 0;
    return isQuiet ? this.#others.open : undefined;
  }

  /** The keys of questions, calls and waits for events under a prefix that are not known to have ended. */
  openUnder(prefix: string): readonly string[] {
    return this.#others.keys().filter((key) => key.startsWith(prefix));
  }

  /** An earlier attempt's entry with this key. */
  find(key: string): ListedEntry | undefined {
    return this.#earlier.find(key);
  }

  /** Settles as `decode` does with an earlier attempt's end of an entry, when it is its turn. */
  replayed<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    return this.#turn(entry, entry.place, () => this.#earlier.read(entry, decode));
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
    await this.#ending(this.#writer.write("record_step", step));
  }

  /** Writes what a step has begun that lives on without this run. */
  async beginStep(step: HeldCommand<"begin_step">): Promise<void> {
    this.#size.add(step.key, step.value);
    await this.#writer.write("begin_step", step);
  }

  /** What a step had begun that has not ended since, as raw JSON. */
  begunBy(entry: ListedEntry): Promise<string | null> {
    return this.#earlier.read(entry, ({ value }) => value);
  }

  /** The handler sleeps, or waits to retry a step, possibly since an earlier attempt. */
  waits(key: string): void {
    this.#unreplayed.delete(key);
  }

  /** Writes the end of a sleep, and resolves when it is its turn. */
  endSleep(key: string): Promise<void> {
    return this.#ending(this.#writer.write("end_sleep", { key }));
  }

  /** An entry that others end is about to begin, or is reached again: its end, when it is its turn. */
  awaitEnd(key: string): PromiseWithResolvers<JournalEnd> {
    this.#unreplayed.delete(key);
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
    await this.#pending(opening);
  }

  /** Times out a question or a wait for an event, unless it ended first. */
  async closeWait(key: string, error: string): Promise<void> {
    const closing = this.#writer
      .write("close_wait", { key, error })
      .then(() => this.#others.reportEnded([key]));
    await this.#pending(closing);
  }

  /** Others have ended the entries with these `keys`, or any. Without this call, a record shows it, and all of them are read. */
  ended(keys?: readonly string[]): void {
    this.#others.reportEnded(keys);
    this.#look();
  }

  /** Resolves when current writes are in the journal, or were refused. */
  async written(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  /** The handler may wait for this update of its task before it begins what ended next; a replay allows time for it. */
  updating(update: Promise<void>): Promise<void> {
    if (this.#unreplayed.size === 0) return update;
    this.#updates.add(update);
    const forget = (): void => void this.#updates.delete(update);
    update.then(forget, forget);
    return update;
  }

  /** The handler goes on in another turn of the event loop as if it went on in this one: no end reaches it before. */
  pausing(turn: Promise<void>): Promise<void> {
    this.#pauses++;
    this.#updates.add(turn);
    return turn.finally(() => {
      this.#pauses--;
      this.#updates.delete(turn);
    });
  }

  /** A write, or a read, has returned this record. */
  saw(task: TaskRecord): void {
    this.#others.saw(task);
    this.#check();
  }

  /**
   * Settles as `read` does when it is the turn of an entry that has ended. `place` is its position in the journal; it is read just before
   * its turn.
   */
  #turn<T>(entry: JournalEndTime, place: number, read: () => Promise<T>): Promise<T> {
    const turn = Promise.withResolvers<T>();
    let settle = (): void => undefined;
    const end: End = {
      version: entry.doneVersion ?? 0,
      place,
      read: async () => {
        try {
          const result = await read();
          settle = () => turn.resolve(result);
        } catch (error) {
          settle = () => turn.reject(error);
        }
        end.read = undefined;
      },
      release: () => {
        this.#unreplayed.delete(entry.key);
        settle();
      },
    };
    this.#add(end);
    return turn.promise;
  }

  /** Waits for a write that ends something, and then for that end's turn. */
  async #ending(write: Promise<EndResult>): Promise<void> {
    this.#writes.add(write);
    this.#endings++;
    let result: EndResult;
    try {
      result = await write;
    } finally {
      this.#writes.delete(write);
      this.#endings--;
    }
    if (!result.ok) {
      this.#check();
      return;
    }
    const { version } = result.task;
    // Nothing may come between this and the end of the write: a later end would find nothing before it.
    await new Promise<void>((release) => this.#add({ version, place: 0, read: undefined, release }));
  }

  /** Waits for a write that opens or closes a question. */
  async #pending(write: Promise<unknown>): Promise<void> {
    this.#writes.add(write);
    try {
      await write;
    } finally {
      this.#writes.delete(write);
    }
    this.#check();
  }

  /** Looks for questions that have ended, unless what is known of the task rules them out. */
  #check(): void {
    if (this.#writes.size === 0 && !this.#others.complete) this.#look();
  }

  /** Looks for questions that have ended. */
  #look(): void {
    this.#scheduler.look();
    void this.#run();
  }

  #add(end: End): void {
    this.#scheduler.add(end);
    void this.#run();
  }

  /** If there is nothing to wait for, an end is released at once, before this returns. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (;;) {
      const decision = this.#scheduler.decide();
      if (decision.do === "nothing") break;
      if (decision.do === "learn") {
        if (this.#writes.size > 0 || !this.#others.complete) await this.#learn();
        this.#scheduler.learned(decision.upTo);
        continue;
      }
      const { end } = decision;
      if (end.read !== undefined) {
        await end.read();
        continue; // by now an earlier one may have come
      }
      if (this.#unreplayed.size > 0 || this.#pauses > 0) await this.#handlerRests();
      else if (this.#justReleased) await nextTurn();
      if (!this.#slot.holds) await this.#slot.take();
      if (!this.#scheduler.deliver(end)) continue; // the same
      end.release();
      this.#slot.giveWhenIdle();
      this.#justReleased = true;
      setImmediate(() => (this.#justReleased = false));
    }
    this.#running = false;
    this.#slot.giveWhenIdle(); // also where nothing was found: while this looked, the handler did not rest
  }

  /** A write that begins, or an answer that comes, from now on gets a higher version than any known one. */
  async #learn(): Promise<void> {
    await this.written();
    // The attempt has reported what cannot be read, or it has lost its task: then no order is left to keep.
    await this.#others.read().catch(() => undefined);
  }

  async #handlerRests(): Promise<void> {
    await nextTurn();
    for (let round = 0; this.#updates.size > 0 && round < mostRounds; round++) {
      await Promise.allSettled(this.#updates);
      await nextTurn();
    }
  }
}
