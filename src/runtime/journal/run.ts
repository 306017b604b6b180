import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEnd, JournalKey, WaitReason } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { nextTurn } from "../wait-for.ts";
import { forEver, RunLife, type RunSetup } from "./run-life.ts";
import {
  ClaimedKeys,
  type Doing,
  isSame,
  type Mismatch,
  replayMismatch,
  type RunRefusal,
} from "./claimed-keys.ts";
import type { HeldCommand, PieceWriter } from "./piece-writer.ts";
import { HeldTask, type HeldTaskSetup, type NextRoundOfLoop } from "./held-task.ts";
import type { LineSource } from "./task-lines.ts";
import { SlotHolder, type BeginWait } from "./slot-holder.ts";

/** Calls of a handler that are refused in one turn of the event loop. */
const mostInTurn = 256;

/**
 * One run of a handler, and its journal as used by the task context. It holds a task from the start, from its promotion on, or never: then
 * its keys are still checked, but nothing is journalled. It has a concurrency slot while it does not wait.
 */
export class Run {
  readonly setup: RunSetup;
  /** The source of lines from the handler itself, outside of its steps: of the round of a loop that it is in, if it is in one. */
  lineSource: LineSource = { step: "" };
  readonly life: RunLife;
  readonly keys = new ClaimedKeys((key) => this.#task?.journal.find(key) !== undefined);
  readonly #slot: SlotHolder;
  #task: HeldTask | undefined;
  #artifacts = 0;
  /** In this turn of the event loop. */
  #refused = 0;
  #refusal: RunRefusal | undefined;
  readonly #threw = new WeakMap<object, string>();

  constructor(setup: RunSetup) {
    this.setup = setup;
    this.life = new RunLife(setup.inOwnContext);
    const { slots, limit } = setup;
    this.#slot = new SlotHolder(slots, limit, (error) => this.life.endAttempt(error));
  }

  get signal(): AbortSignal {
    return this.life.signal;
  }

  /** The token under which it holds its task; empty without one. */
  get token(): string {
    return this.#task?.token ?? "";
  }

  /** From now on it holds its task, with earlier attempts' journal entries. */
  hold(setup: Omit<HeldTaskSetup, "life" | "slot">): HeldTask {
    const { task } = setup;
    const held = new HeldTask({ ...setup, life: this.life, slot: this.#slot });
    if (!this.life.apply("hold")) {
      void held.giveBack(); // the run was given up while its task was made
      throw new HoldfastError("fenced", `Task ${task.id} was created after its run had been given up.`);
    }
    this.#task = held;
    return held;
  }

  /** Claims a key for this run; throws `duplicate_key` if it was used before. */
  claim(key: JournalKey): string {
    return this.keys.claim(key);
  }

  /** The task that it holds, in whose journal it writes. */
  get task(): HeldTask | undefined {
    return this.#task;
  }

  /** An earlier attempt's entry with this key. Throws if the handler now does something else: then the task is blocked. */
  find(key: string, doing: Doing): ListedEntry | undefined {
    this.keys.did(key, doing.kind);
    const entry = this.#task?.journal.find(key);
    if (entry === undefined || isSame(entry, doing)) return entry;
    throw this.mismatch({ key, had: entry.kind, doing });
  }

  /** The handler cannot continue with its journal. What it returns is for readers of recordings: the call of the handler never settles. */
  mismatch(mismatch: Mismatch): HoldfastError {
    this.refuse({ reason: "replay", ...mismatch });
    return replayMismatch(mismatch);
  }

  /** This code cannot continue the task. From here on the attempt counts for nothing, and the task is blocked. */
  refuse(refusal: RunRefusal): void {
    if (!this.life.apply("block")) return;
    this.#refusal = refusal;
    if (!this.#slot.working) void this.#releaseResumable(); // otherwise the end of the step does it
  }

  /** Remembers that the step under this key rejected with `error`, which it returns. */
  threw<T>(key: string, error: T): T {
    if (typeof error === "object" && error !== null) this.#threw.set(error, key);
    return error;
  }

  /** The step that rejected with this, in this attempt or an earlier one. */
  threwIn(error: unknown): string | undefined {
    return typeof error === "object" && error !== null ? this.#threw.get(error) : undefined;
  }

  /**
   * Settles as `decode` does with the end of an earlier attempt's entry, in the order in which the entries first ended. If that cannot be
   * read, the task fails like one that cannot be loaded, and the handler writes nothing more, because it must not take this for its own
   * failure.
   */
  async replayed<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    const task = this.#task;
    if (task === undefined) throw new HoldfastError("internal", "A run without a task has no journal.");
    try {
      return await task.journal.replayed(entry, (end) => {
        this.setup.trace?.replayed(entry, end.error !== null);
        return decode(end);
      });
    } catch (error) {
      if (isUnreadable(error)) await task.failUnreadable(error);
      if (this.life.stops("write")) await forEver();
      if (this.life.state === "fenced") throw this.life.over.reason;
      throw error;
    }
  }

  /**
   * Settles as the handler's call of an entry does, unless the server stops: then no end reaches the handler any more. A handler that is
   * refused again and again waits for the next turn of the event loop now and then: it would let nothing else run. Ends come one in a turn.
   */
  async reaching<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (this.#refused === 0) setImmediate(() => (this.#refused = 0));
      if (++this.#refused % mostInTurn === 0)
        await this.#slot.whileBeginning(() => this.#task?.journal.pausing(nextTurn()) ?? nextTurn());
      throw error;
    } finally {
      if (this.life.stops("see")) await this.#stopHere();
    }
  }

  /** What a report of the handler comes to that is not stored; undefined for one that is. */
  unstored(): Promise<void> | undefined {
    if (this.life.stops("report")) return forEver();
    const refusal = this.life.refusal("report");
    return refusal && Promise.reject(refusal);
  }

  /**
   * Rejects if the run should end. A stopping server drops the handler here and never rejects, so that the author's code does not take the
   * stop for a failure.
   */
  async checkpoint(): Promise<void> {
    if (this.life.stops("begin")) await this.#stopHere();
    this.life.assertGoesOn("begin");
  }

  /**
   * Await it before a journalled entry begins, or an earlier attempt's continues (`isNew` false). It is a checkpoint, and marks the task as
   * resumable. Rejects with `limit_reached` if the journal has no room for it.
   */
  begin(isNew = true): Promise<void> {
    return this.#slot.whileBeginning(() => this.#begin(isNew));
  }

  /**
   * As `begin`, before a wait. First lets the handler's parallel code run, so that it is known whether the handler rests. Waits that begin
   * together begin in turn, and the handler can only rest with the last. `prepare` comes before all of that.
   */
  beginWait(isNew: boolean, prepare?: () => Promise<void>): Promise<void> {
    return this.#slot.whileBeginning(async () => {
      if (prepare !== undefined) await prepare(); // without it there is no pause: entries begin in the order of their calls
      await this.#begin(isNew);
      await nextTurn();
      await this.checkpoint();
    });
  }

  /** Whether a wait that an earlier attempt has begun can go on at once; otherwise `beginWait` says what comes of it. */
  continuesWait(): boolean {
    const task = this.#task;
    if (task?.isMarked !== true || this.signal.aborted || !this.life.goesOn("begin")) return false;
    task.journal.begin(false);
    return true;
  }

  /** As `beginWait`, for a step that has failed: if the server stops, the failure is journalled before the task is released. */
  beginPause(): Promise<void> {
    return this.#slot.whileBeginning(async () => {
      await nextTurn();
      if (this.life.stops("try")) await forEver();
      this.life.assertGoesOn("try");
    });
  }

  /**
   * Runs a step and records it, with a slot, once `prepare` has. Rejects if the run has ended, or should end, before the step begins.
   */
  working<T>(work: () => Promise<T>, prepare?: () => Promise<void>): Promise<T> {
    const rests = this.#task?.rests;
    const begun = (): Promise<T> => {
      if (this.life.stops("try")) return forEver();
      this.life.assertGoesOn("try");
      const assured = this.#task?.assured();
      return assured === undefined ? work() : assured.then(begun);
    };
    const prepared = prepare === undefined ? begun : () => prepare().then(begun);
    return this.#slot.whileWorking(
      rests?.mayBeRecorded === true ? () => rests.withdraw().then(prepared) : prepared,
    );
  }

  /** First writes what the step has appended, because the step does not run again. */
  async recordStep(step: HeldCommand<"record_step">, isRefusal = false): Promise<void> {
    if (this.setup.lines.isWriting) await this.setup.lines.written();
    await this.#task?.journal.recordStep(step, isRefusal);
    this.setup.lines.stepEnded(step.key, step.error !== null);
  }

  /** Counts an artifact of the handler. Throws `limit_reached` for one too many. */
  countArtifact(): void {
    const { maxArtifactsPerTask } = this.setup.limits;
    if (++this.#artifacts <= maxArtifactsPerTask) return;
    throw new HoldfastError(
      "limit_reached",
      `The task has ${maxArtifactsPerTask} artifacts and cannot have more (maxArtifactsPerTask).`,
    );
  }

  /** Takes the pieces of an artifact, once `begin` has begun it. Throws if the task can have none. */
  pieces(key: string): PieceWriter {
    if (this.#task !== undefined) return this.#task.pieces(key);
    throw new HoldfastError(
      "invalid_request",
      'A tool that never runs as a task has no artifacts. Remove task: "forbidden" from it.',
    );
  }

  /** What a step had begun in an earlier run, as raw JSON, if it has not ended since. */
  async begunBy(key: string): Promise<string | undefined> {
    const entry = this.#task?.journal.find(key);
    if (this.#task === undefined || entry === undefined || entry.doneAt !== null) return undefined;
    return (await this.#task.journal.begunBy(entry)) ?? undefined;
  }

  /**
   * Frees the slot during the wait that `begin` begins, which ends by itself at `until` (epoch ms). A stopping server does not wait for a
   * client: the task returns to the queue, and the handler is dropped here.
   */
  async whileWaiting<T>(reason: WaitReason, begin: BeginWait<T>, until?: number): Promise<T> {
    const waiting = this.#slot.whileWaiting(reason, begin, until);
    waiting.catch(() => undefined); // it is dropped, and not handled, where the task was released meanwhile
    this.#releaseWhereItWaits();
    try {
      return await waiting;
    } finally {
      if (this.life.stops("write")) await forEver();
    }
  }

  /**
   * Ends the round of a loop, once its steps have ended: the task returns to the queue with the next round, and the handler is dropped here.
   * `beforeWrite` resolves when what the round has reported is stored. Rejects where a checkpoint does. Resolves, for a run without a task, where the next
   * round begins.
   */
  nextRound(next: NextRoundOfLoop, beforeWrite: () => Promise<unknown>): Promise<void> {
    return this.#slot.whileBeginning(async () => {
      await this.#begin(false);
      do {
        await this.stepsEnd();
        await Promise.all([beforeWrite(), this.setup.lines.written(), this.#task?.journal.written()]);
        await this.checkpoint();
      } while (this.#slot.working); // one that had not run yet
      if (this.#task === undefined) return;
      if (this.life.apply("release")) {
        this.setup.trace?.end({ end: "next_round" });
        this.#slot.end();
        await this.#task.nextRound(next);
        this.life.drop();
      }
      await forEver();
    });
  }

  /** From now on the task is released at the handler's next journalled call, or at once if it only waits. */
  drain(): void {
    this.life.apply("drain");
    this.#releaseWhereItWaits();
  }

  /** Whether the handler rests, so that it can be dropped from memory. */
  get canPark(): boolean {
    return this.life.goesOn("park") && this.#task?.rests.canPark === true;
  }

  /**
   * Drops the handler from memory; it writes nothing from now on. Resolves with the task, which was returned to the queue until its wait
   * ends, unless others had ended or taken it; undefined if it was deleted.
   */
  async park(over: AbortSignal): Promise<TaskRecord | undefined> {
    this.life.apply("park");
    this.setup.trace?.end({ end: "parked" });
    this.life.drop();
    this.#slot.end();
    return this.#task?.park(over);
  }

  /** Returns the task now. The handler, if it still runs, learns that the server is stopping. */
  async release(): Promise<void> {
    if (await this.#release()) this.life.stop();
  }

  /** The handler ended: its slot is free, and its context calls reject. */
  end(threw: boolean): void {
    this.life.end(threw);
    this.#slot.end();
  }

  /** Resolves when none of its steps runs any more. */
  stepsEnd(): Promise<void> {
    return this.#slot.untilNotWorking();
  }

  /** Frees the slot although the handler continues; false if it waits for one. */
  freeSlot(): boolean {
    const { holds, hasEnded } = this.#slot;
    this.#slot.end();
    return holds || hasEnded;
  }

  async #begin(isNew: boolean): Promise<void> {
    await this.checkpoint();
    if (this.#task === undefined && this.setup.promote !== undefined) {
      await this.setup.promote();
      await this.checkpoint();
    }
    if (this.#task === undefined) return;
    this.#task.journal.begin(isNew);
    if (!this.setup.runsAgain) await this.#task.mark(); // one that runs again anyway is marked by what it stores
  }

  /** Drops the handler here: what comes next is for the next run. */
  async #stopHere(): Promise<never> {
    this.life.apply("withhold");
    // While a step of another branch runs, its end releases the task, with its result in the journal.
    if (!this.#slot.working) void this.#releaseResumable();
    return this.#slot.whileBeginning(forEver); // until something has come for the handler, it does not rest
  }

  /** The handler may not have begun any entry: that it ends here is no crash, so the next run begins again. */
  async #releaseResumable(): Promise<void> {
    try {
      if (this.life.state === "doomed") await this.#task?.mark();
      await this.#release();
    } catch {
      this.life.drop(); // others have ended or taken the task, or the deadline of the stop has passed
    }
  }

  #releaseWhereItWaits(): void {
    if (this.life.stops("wait") && this.#slot.waiting && !this.#slot.working) void this.#release();
  }

  /** False if there is nothing to return any more. */
  async #release(): Promise<boolean> {
    if (!this.life.apply("release")) return false;
    const refusal = this.#refusal;
    this.setup.trace?.end({ end: refusal === undefined ? "released" : "blocked" });
    this.#slot.end(); // a step of another task may wait for it
    await (refusal === undefined
      ? this.#task?.giveBack()
      : this.#task?.block(refusal, this.setup.versions.code));
    this.life.drop();
    return true;
  }
}
