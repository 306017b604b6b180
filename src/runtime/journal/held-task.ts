import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEnd, WaitReason } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";
import type { HeldCommand, HeldCommandName, OpeningCommandName, TaskWriter } from "./held-command.ts";
import { Journal } from "./journal.ts";
import { forEver, type RunLife } from "./run-life.ts";
import { blockReasonOf, type RunRefusal } from "./replay-match.ts";
import type { SlotHolder } from "./slot-holder.ts";
import { blockHeld } from "../blocking.ts";
import { isLost } from "../../store/lost-store.ts";
import type { Rest } from "../../task/queue.ts";
import type { Clock } from "../clock.ts";

/** Hears of what becomes of a held task. */
export interface TaskWatcher {
  /** The handler rests, and the task can be parked. */
  onRest(): void;
  /** It has to continue. */
  onStir(): void;
  /** Something that the handler needs cannot be read: the task is to end. */
  onUnreadable(problem: HoldfastError): void;
  /** The task was blocked, and the run no longer holds it; undefined if others had taken it. */
  onBlocked(task: TaskRecord | undefined): void;
}

export interface HeldTaskSetup {
  readonly services: Services;
  readonly task: TaskRecord;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  readonly life: RunLife;
  readonly slot: SlotHolder;
  /** Whether the task may be parked. */
  readonly parks: boolean;
  readonly watcher: TaskWatcher;
}

/** A task held by a run: what is written under its token, and what others do to it meanwhile. */
export class HeldTask implements TaskWriter {
  readonly id: string;
  readonly journal: Journal;
  readonly rests: Rests;
  readonly #services: Services;
  readonly #life: RunLife;
  readonly #slot: SlotHolder;
  readonly #watcher: TaskWatcher;
  readonly #token: string;
  readonly #attempt: number;
  readonly #isChild: boolean;
  #marked: Promise<unknown> | undefined;
  /** The newest state of what blocked it. */
  #blocked: TaskRecord["blocked"];
  /** The highest version of the record seen so far. */
  #seen: number;

  constructor({ services, task, entries, life, slot, parks, watcher }: HeldTaskSetup) {
    if (task.token === null) throw new HoldfastError("internal", `No attempt holds task ${task.id}.`);
    this.id = task.id;
    this.#services = services;
    this.#life = life;
    this.#slot = slot;
    this.#watcher = watcher;
    this.#token = task.token;
    this.#attempt = task.attempt;
    this.#isChild = task.parent !== null;
    this.#seen = task.version;
    this.#blocked = task.blocked;
    this.journal = new Journal(task, entries, services, life.scheduler, slot, this);
    this.rests = new Rests(this, parks, services.clock, watcher);
    slot.onIdle(() => this.rests.check());
    if (task.journalled) this.#marked = Promise.resolve();
    if (task.cancelRequestedAt !== null) life.requestCancel();
  }

  /** Whether a record of this version is newer than what was seen. */
  isBehind(version: number): boolean {
    return version > this.#seen && !this.#life.stops("write");
  }

  /** Reacts to others' changes of the task, by its record alone; undefined: it was deleted. */
  saw(task: TaskRecord | undefined): void {
    const { state } = this.#life;
    if (state === "released") return;
    if (task !== undefined) {
      if (state !== "ended") this.journal.saw(task);
      if (task.version <= this.#seen) return;
      this.#seen = task.version;
      this.#blocked = task.blocked;
      this.rests.saw(task);
      if (task.cancelRequestedAt !== null) this.#life.requestCancel();
    }
    if (task?.token !== this.#token) this.#life.fence(this.#fenced(this.#whyFenced(task)));
  }

  /** When the first wait of the handler ends by itself (epoch ms); undefined unless everything in it waits. */
  get idleUntil(): number | undefined {
    const { signal, state } = this.#life;
    return signal.aborted || state === "ended" ? undefined : this.#slot.idleUntil;
  }

  get waitsFor(): WaitReason | undefined {
    return this.#slot.waitsFor;
  }

  /** Marks the task, once, as one that a later attempt can resume. */
  mark(): Promise<unknown> {
    this.#marked ??= this.write("mark", {});
    return this.#marked;
  }

  /**
   * Settles as `decode` does with an earlier attempt's end of an entry, when it is its turn. If that cannot be read, the task fails like
   * one that cannot be loaded, and the handler writes nothing more, because it must not take this for its own failure.
   */
  async replayed<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    try {
      return await this.journal.replayed(entry, decode);
    } catch (error) {
      if (isUnreadable(error)) await this.#failUnreadable(error);
      if (this.#life.stops("write")) await forEver();
      if (this.#life.state === "fenced") throw this.#life.over.reason;
      throw error;
    }
  }

  /** From here on, the handler's first journalled call decides whether the attempt can be resumed. */
  async recordPrepared(prepared: HeldCommand<"record_step">): Promise<void> {
    await this.journal.recordStep({ ...prepared, beforeHandler: true });
    this.#marked = undefined;
  }

  /** Writes under the token; rejects with `fenced`, and aborts the handler, when the task is no longer held. */
  async write<N extends HeldCommandName>(type: N, command: HeldCommand<N>): Promise<CommandResult<N>> {
    const { store, clock } = this.#services;
    const full = { ...command, type, now: clock.now(), id: this.id, token: this.#token };
    // The spread has exactly the members of the command, which TypeScript cannot see through the generic name.
    const pending = full as unknown as TaskCommand<N>;
    if (this.#life.stops("write")) await forEver();
    if (this.#life.state === "fenced") throw this.#life.over.reason;
    const result = await this.persist(() => store.write<N & TaskCommandName>(pending)).catch(
      async (error: unknown) => {
        if (this.#life.stops("write")) await forEver(); // the store may be closed by now
        throw error;
      },
    );
    if (result.ok && type !== "settle") this.saw(result.task);
    if (result.ok || result.reason === "duplicate" || result.reason === "state") return result;
    if (this.#life.stops("write")) await forEver();
    const fenced = this.#fenced("is no longer held by this attempt");
    this.#life.fence(fenced);
    throw fenced;
  }

  /** Stores a piece of an artifact. */
  async writePiece(piece: HeldCommand<"write_piece">): Promise<void> {
    if (this.#isChild)
      throw new HoldfastError(
        "invalid_request",
        "A tool that another tool called has no artifacts: its task is deleted when it ends. Return the data, and let the calling tool store it.",
      );
    if (this.#services.store.pieces === undefined)
      throw new HoldfastError("configuration", "The store of this server keeps no artifacts.");
    await this.write("write_piece", piece);
  }

  /**
   * Repeats a call of the store as long as the task is this run's, however long the store fails. Rejects with `task_unreadable`, which is
   * reported, if the task's stored data is damaged.
   */
  async persist<T>(ask: () => Promise<T>): Promise<T> {
    const { clock, onError, unreadable } = this.#services;
    let resumeSlot: (() => void) | undefined;
    const onFailure = (error: unknown): void => {
      resumeSlot ??= this.#slot.holdUp();
      onError(error);
    };
    try {
      return await untilStoreAnswers(ask, { clock, onError: onFailure }, this.#life.over);
    } catch (error) {
      if (isUnreadable(error)) unreadable.report(this.id, error);
      throw error;
    } finally {
      resumeSlot?.();
    }
  }

  /** Writes, and includes whether the handler rests. */
  writeWithRest<N extends OpeningCommandName | "sleep" | "retry_step">(
    type: N,
    command: HeldCommand<N>,
  ): Promise<CommandResult<N>> {
    const rest = this.rests.current();
    const write = this.write<N>(type, rest === undefined ? command : { ...command, rest });
    // Unlike what others end, these are not counted in the record: a mark written meanwhile could be stored before this one.
    if (type === "sleep" || type === "retry_step") this.rests.busyWhile(write);
    return this.rests.beginning(write, rest !== undefined);
  }

  /** Returns the task to wait in the queue, however long the store fails, and resolves with its record; rejects when `over` aborts. */
  async park(over: AbortSignal): Promise<TaskRecord | undefined> {
    const { store, clock } = this.#services;
    const park = { type: "park", now: clock.now(), id: this.id, token: this.#token } as const;
    const result = await untilStoreAnswers(() => store.write<"park">(park), this.#services, over);
    if (result.ok) return result.task;
    return untilStoreAnswers(() => store.get(this.id), this.#services, over); // it has ended, or was taken
  }

  /** Returns the task to the queue. Never rejects: if the store fails, the next start recovers the task. */
  async giveBack(): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      await store.write({ type: "release", now: clock.now(), id: this.id, token: this.#token });
    } catch (error) {
      onError(error);
    }
  }

  /** Returns the task to the queue, blocked, however long the store fails: this process goes on. Never rejects. */
  async block(refusal: RunRefusal, version: number): Promise<void> {
    const { store, onError } = this.#services;
    const { over, cancelRequested } = this.#life;
    const cancelRequestedAt = cancelRequested ? 0 : null;
    const task = { id: this.id, token: this.#token, blocked: this.#blocked, cancelRequestedAt };
    try {
      const entryOf = (key: string) =>
        untilStoreAnswers(() => store.journalEntry(this.id, key), this.#services, over);
      const why = await blockReasonOf(refusal, version, entryOf);
      const command = blockHeld(why, task, this.#services, refusal.reason === "arguments");
      const result = await untilStoreAnswers(() => store.write(command), this.#services, over);
      this.#watcher.onBlocked(result.ok ? result.task : undefined);
    } catch (error) {
      if (!isLost(error)) onError(error);
      this.#watcher.onBlocked(undefined);
    }
  }

  async #failUnreadable(problem: HoldfastError): Promise<void> {
    const { store } = this.#services;
    // A task that was deleted, or taken by others who ended it, may have no journal any more.
    await this.persist(() => store.get(this.id)).then(
      (task) => this.saw(task),
      () => undefined,
    );
    const { state } = this.#life;
    if (state === "fenced" || state === "released") return;
    this.#life.fence(this.#fenced("can no longer be read"));
    this.#watcher.onUnreadable(problem);
  }

  #fenced(why: string): HoldfastError {
    return new HoldfastError("fenced", `Task ${this.id} ${why}.`);
  }

  #whyFenced(task: TaskRecord | undefined): string {
    if (task === undefined) return "was deleted";
    if (task.state === "cancelled") return "was cancelled";
    // Only the attempt itself settles its task, and the sweeper, if the task has expired.
    if (task.state === "settled" && task.attempt === this.#attempt) return "expired";
    return "was taken over from this attempt";
  }
}

/** A handler that continues by itself this soon is not worth parking. */
const shortestMs = 1_000;

type RestingTask = Pick<HeldTask, "idleUntil" | "waitsFor" | "journal" | "write">;

type Recorded = Pick<TaskRecord, "waiting" | "waitsFor" | "runAfter">;

/**
 * Detects when the handler of a run rests: everything in it waits. The record says so too, and never too early, because a parked task only
 * runs again when a wait ends.
 */
export class Rests {
  readonly #task: RestingTask;
  /** Whether the task may be parked while its handler rests. */
  readonly #parks: boolean;
  readonly #clock: Pick<Clock, "now">;
  readonly #watcher: TaskWatcher;
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

  constructor(task: RestingTask, parks: boolean, clock: Pick<Clock, "now">, watcher: TaskWatcher) {
    this.#task = task;
    this.#parks = parks;
    this.#clock = clock;
    this.#watcher = watcher;
  }

  /** The handler's state to record; undefined while it works. */
  current(): Rest | undefined {
    const { idleUntil } = this.#task;
    if (idleUntil === undefined || idleUntil <= this.#clock.now() || this.#busy.size > 0) return undefined;
    const { open } = this.#task.journal;
    if (open === undefined) return undefined;
    const reason = this.#task.waitsFor;
    return { ...(reason && { reason }), open, runAfter: this.#parks ? idleUntil : null };
  }

  /** Whether the task can be parked now. */
  get canPark(): boolean {
    const { runAfter } = this.#recorded;
    if (this.current() === undefined || runAfter === null || this.#isWriting) return false;
    return runAfter - this.#clock.now() >= shortestMs;
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
    if (rested !== null && rested !== runAfter) this.#watcher.onStir();
  }

  /** Call it a turn of the event loop after the handler did something, because it may rest now. */
  check(): void {
    const rest = this.current();
    this.#again = rest !== undefined && this.#isWriting;
    if (rest === undefined || this.#again) return;
    const { waiting, waitsFor, runAfter } = this.#recorded;
    const { reason = null } = rest;
    if (!waiting || waitsFor !== reason || runAfter !== rest.runAfter) void this.#record(rest);
    else if (runAfter !== null) this.#watcher.onRest();
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

  async #withdraw(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
    if (this.#recorded.waiting) await this.#task.write("mark", {});
  }

  async #record(rest: Rest): Promise<void> {
    try {
      await this.#during(this.#task.write("mark", { rest }));
    } catch {
      return; // the run has lost its task, or the task has reported what is wrong
    }
    // Where the record says something else, something has come that the handler is about to see.
    if (this.canPark) this.#watcher.onRest();
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
