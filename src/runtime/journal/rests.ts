import type { Rest } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Clock } from "../clock.ts";
import type { TaskWriter } from "./piece-writer.ts";
import type { AttemptEvent, RunLife } from "./run-life.ts";
import type { Journal } from "./journal.ts";
import type { SlotHolder } from "./slot-holder.ts";

/** A handler that continues by itself this soon is not worth parking. */
const shortestMs = 1_000;

interface RestsSetup {
  readonly task: Pick<TaskWriter, "write">;
  readonly journal: Journal;
  readonly life: RunLife;
  readonly slot: SlotHolder;
  /** Whether the task may be parked while its handler rests. */
  readonly parks: boolean;
  readonly clock: Pick<Clock, "now">;
  readonly tell: (event: AttemptEvent) => void;
}

type Recorded = Pick<TaskRecord, "waiting" | "waitsFor" | "runAfter">;

/**
 * Detects when the handler of a run rests: everything in it waits. The record says so too, and never too early, because a parked task only
 * runs again when a wait ends.
 */
export class Rests {
  readonly #setup: RestsSetup;
  /** Writes in progress that record the rest. */
  readonly #writes = new Set<Promise<unknown>>();
  /** Writes in progress that begin a wait. */
  #beginnings = 0;
  /** Whether a write prevented a check. */
  #again = false;
  readonly #busy = new Set<Promise<unknown>>();
  #withdrawing: Promise<void> | undefined;
  /** The state in the newest record. */
  #recorded: Recorded = { waiting: false, waitsFor: null, runAfter: null };

  constructor(setup: RestsSetup) {
    this.#setup = setup;
    setup.slot.onIdle(() => this.check());
  }

  /** The handler's state to record; undefined while it works. */
  current(): Rest | undefined {
    const { life, slot, journal, parks, clock } = this.#setup;
    if (life.signal.aborted || life.state === "ended" || this.#busy.size > 0) return undefined;
    const { idleUntil } = slot;
    if (idleUntil === undefined || idleUntil <= clock.now()) return undefined;
    const { open } = journal;
    if (open === undefined) return undefined;
    const reason = slot.waitsFor;
    return { ...(reason && { reason }), open, runAfter: parks ? idleUntil : null };
  }

  /** Whether the task can be parked now. */
  get canPark(): boolean {
    const { runAfter } = this.#recorded;
    if (this.current() === undefined || runAfter === null || this.#isWriting) return false;
    return runAfter - this.#setup.clock.now() >= shortestMs;
  }

  /** The handler may continue when this ends, and it is not in the journal. */
  busyWhile(work: Promise<unknown>): void {
    if (this.#busy.has(work)) return;
    this.#busy.add(work);
    const forget = (): void => {
      this.#busy.delete(work);
      setImmediate(() => this.check());
    };
    work.then(forget, forget);
  }

  /** Waits for a write that begins a wait, and that may record the current state (`says`). */
  async beginning<T>(write: Promise<T>, says: boolean): Promise<T> {
    this.#beginnings++;
    try {
      return await (says ? this.#during(write) : write);
    } finally {
      this.#beginnings--;
      setImmediate(() => this.check());
    }
  }

  /** The state of rest in a record. */
  saw({ waiting, waitsFor, runAfter }: TaskRecord): void {
    const rested = this.#recorded.runAfter;
    this.#recorded = { waiting, waitsFor, runAfter };
    if (rested !== null && rested !== runAfter) this.#setup.tell({ type: "goes on" });
  }

  /** Call it a turn of the event loop after the handler did something, because it may rest now. */
  check(): void {
    const rest = this.current();
    this.#again = rest !== undefined && this.#isWriting;
    if (rest === undefined || this.#again) return;
    const { waiting, waitsFor, runAfter } = this.#recorded;
    const { reason = null } = rest;
    if (!waiting || waitsFor !== reason || runAfter !== rest.runAfter) void this.#record(rest);
    else if (runAfter !== null) this.#setup.tell({ type: "rests" });
  }

  /** Whether the record may say that the handler rests. */
  get mayBeRecorded(): boolean {
    return this.#recorded.waiting || this.#writes.size > 0;
  }

  /** Resolves once the record says that the handler works. */
  withdraw(): Promise<void> {
    this.#withdrawing ??= this.#withdraw().finally(() => (this.#withdrawing = undefined));
    return this.#withdrawing;
  }

  /** Resolves when no write is under way that records a rest. */
  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  async #withdraw(): Promise<void> {
    await this.settled();
    if (this.#recorded.waiting) await this.#setup.task.write("mark", {});
  }

  async #record(rest: Rest): Promise<void> {
    try {
      await this.#during(this.#setup.task.write("mark", { rest }));
    } catch {
      return; // the run has lost its task, or the task has reported what is wrong
    }
    // Where the record says something else, something has come that the handler is about to see.
    if (this.canPark) this.#setup.tell({ type: "rests" });
    else if (this.#again) this.check(); // a wait has begun meanwhile, of which this write knew nothing
  }

  get #isWriting(): boolean {
    return this.#writes.size > 0 || this.#beginnings > 0;
  }

  async #during<T>(write: Promise<T>): Promise<T> {
    this.#writes.add(write);
    try {
      return await write;
    } finally {
      this.#writes.delete(write);
    }
  }
}
