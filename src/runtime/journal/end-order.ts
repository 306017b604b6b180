import type { CommandResult } from "../../task/command.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEndTime } from "../../task/journal.ts";
import { nextTurn } from "../next-turn.ts";
import type { OutsideEnds } from "./outside-ends.ts";
import { compareEnds, type Position, type Scheduler } from "./scheduler.ts";
import type { SlotHolder } from "./slot-holder.ts";

/** An end that the handler has not seen yet. */
export interface End extends Position {
  /** Reads the entry's end. It never rejects; undefined if nothing needs to be read any more. */
  read: (() => Promise<void>) | undefined;
  readonly release: () => void;
}

type EndResult = CommandResult<"record_step" | "end_sleep">;
type Others = Pick<OutsideEnds, "complete" | "read">;
type Slot = Pick<SlotHolder, "holds" | "take" | "giveWhenIdle">;

/** Maximum number of rounds for which a handler that keeps changing its task can delay its own replay. */
const mostRounds = 16;

/**
 * Ends steps, questions and sleeps for the handler in the order in which the store committed their ends, so that a `Promise.race` over them
 * takes the same branch on a replay. An end is released once all before it are known, and one per turn of the event loop, so that the
 * handler reacts to it before it sees the next.
 */
export class EndOrder {
  readonly #scheduler: Scheduler<End>;
  readonly #others: Others;
  readonly #slot: Slot;
  /** Writes in progress that may end something, or that open or close a question. */
  readonly #writes = new Set<Promise<unknown>>();
  /** Earlier attempts' entries that this one has not reached yet. */
  readonly #unreplayed: Set<string>;
  /** Changes of the task that the handler may wait for. */
  readonly #updates = new Set<Promise<unknown>>();
  #running = false;
  /** Those of the writes that end something. */
  #endings = 0;
  #justReleased = false;

  /** `keys` are those of earlier attempts' entries, read when the record had this version or later. */
  constructor(
    keys: Iterable<string>,
    version: number,
    scheduler: Scheduler<End>,
    others: Others,
    slot: Slot,
  ) {
    this.#scheduler = scheduler;
    this.#others = others;
    this.#slot = slot;
    this.#unreplayed = new Set(keys);
    scheduler.learned(version);
  }

  /** True if there is no end that the handler has not seen, known or being written. */
  get isQuiet(): boolean {
    return this.#scheduler.isEmpty && !this.#running && this.#endings === 0;
  }

  /** The handler has reached an entry that had not ended. */
  begun(key: string): void {
    this.#unreplayed.delete(key);
  }

  /**
   * Settles as `read` does when it is the turn of an entry that has ended. `place` is its position in the journal; it is read just before
   * its turn.
   */
  turn<T>(entry: JournalEndTime, place: number, read: () => Promise<T>): Promise<T> {
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
  async ending(write: Promise<EndResult>): Promise<void> {
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
      this.check();
      return;
    }
    const { version } = result.task;
    // Nothing may come between this and the end of the write: a later end would find nothing before it.
    await new Promise<void>((release) => this.#add({ version, place: 0, read: undefined, release }));
  }

  /** Waits for a write that opens or closes a question. */
  async pending(write: Promise<unknown>): Promise<void> {
    this.#writes.add(write);
    try {
      await write;
    } finally {
      this.#writes.delete(write);
    }
    this.check();
  }

  /** Resolves when the writes in progress have ended. */
  async written(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  /** Looks for questions that have ended, unless what is known of the task rules them out. */
  check(): void {
    if (this.#writes.size === 0 && !this.#others.complete) this.look();
  }

  /** Looks for questions that have ended. */
  look(): void {
    this.#scheduler.look();
    void this.#run();
  }

  /** The handler may wait for this update before it begins what ended next; a replay allows time for it. */
  afterUpdate(update: Promise<unknown>): void {
    if (this.#unreplayed.size === 0) return;
    this.#updates.add(update);
    const forget = (): void => void this.#updates.delete(update);
    update.then(forget, forget);
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
      if (this.#unreplayed.size > 0) await this.#handlerRests();
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

/** The entries that have ended, in the order of their ends. */
export function inOrderOfEnds(entries: readonly ListedEntry[]): readonly ListedEntry[] {
  return entries
    .filter(({ doneAt }) => doneAt !== null)
    .map((entry) => ({ entry, version: entry.doneVersion ?? 0, place: entry.place }))
    .sort(compareEnds)
    .map(({ entry }) => entry);
}
