import { HoldfastError } from "../../task/fault.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEnd, JournalKey } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import { nextTurn } from "../next-turn.ts";
import type { RunTrace } from "../telemetry/run-trace.ts";
import type { RunVersions } from "../tool/tool-versions.ts";
import { ClaimedKeys } from "./claimed-keys.ts";
import type { HeldCommand } from "./journal.ts";
import { HeldTask, type HeldTaskSetup } from "./held-task.ts";
import { forEver, RunLife } from "./run-life.ts";
import type { LineSource, TaskLines } from "./task-lines.ts";
import { SlotHolder } from "./slot-holder.ts";
import { WorkLimit, type WorkLimitSetup } from "./work-limit.ts";

export interface RunSetup {
  readonly taskId: string;
  readonly wireId: string;
  readonly attempt: number;
  /** For what asks which version the task began with. */
  readonly versions: RunVersions;
  readonly maxBodyBytes: number;
  /** The log and the output of its task; without one, of itself. */
  readonly lines: TaskLines;
  /** Where the run has taken a slot; left out for one that needs none. */
  readonly slots?: PrincipalSlots;
  /** How long its handler may work at a stretch; left out: without end. */
  readonly limit?: WorkLimitSetup | undefined;
  /** Left out where nothing is traced. */
  readonly trace?: RunTrace | undefined;
  /** Makes a task of the run where something is to be journalled; left out for one that stays without. */
  readonly promote?: () => Promise<unknown>;
}

/**
 * One run of a handler, and its journal as the calls of a task context use it. It holds a task from the start, from its
 * promotion on, or never: then its keys are checked all the same, and nothing is journalled. It has a concurrency slot
 * while it does not wait.
 */
export class Run {
  readonly taskId: string;
  readonly wireId: string;
  readonly attempt: number;
  readonly versions: RunVersions;
  readonly maxBodyBytes: number;
  readonly lines: TaskLines;
  /** What the handler itself appends to them, and not one of its steps. */
  readonly lineSource: LineSource = { step: "" };
  readonly trace: RunTrace | undefined;
  readonly life = new RunLife();
  readonly #keys = new ClaimedKeys();
  readonly #slot: SlotHolder;
  readonly #promote: (() => Promise<unknown>) | undefined;
  #task: HeldTask | undefined;

  constructor(setup: RunSetup) {
    this.taskId = setup.taskId;
    this.wireId = setup.wireId;
    this.attempt = setup.attempt;
    this.versions = setup.versions;
    this.maxBodyBytes = setup.maxBodyBytes;
    this.lines = setup.lines;
    this.trace = setup.trace;
    const { slots, limit } = setup;
    const onOver = (error: HoldfastError): void => this.life.endAttempt(error);
    this.#slot = new SlotHolder(slots, limit && new WorkLimit(limit, onOver));
    this.#promote = setup.promote;
  }

  get signal(): AbortSignal {
    return this.life.signal;
  }

  /** Holds its task from now on, with what earlier attempts journalled. */
  hold(
    setup: Pick<
      HeldTaskSetup,
      "services" | "task" | "entries" | "parks" | "onRest" | "onStir" | "onUnreadable"
    >,
  ): HeldTask {
    const { task } = setup;
    const held = new HeldTask({ ...setup, life: this.life, slot: this.#slot });
    if (!this.life.change("hold")) {
      void held.giveBack(); // the run was given up while its task was made
      throw new HoldfastError("fenced", `Task ${task.id} was made too late for its run.`);
    }
    this.#task = held;
    return held;
  }

  /** Takes a key for this run; throws `duplicate_key` where it was used before. */
  claim(key: JournalKey): string {
    return this.#keys.claim(key);
  }

  /** What an earlier attempt journalled under the key. */
  find(key: string): ListedEntry | undefined {
    return this.#task?.journal.find(key);
  }

  /** Settles as `decode` does with what an entry ended with, in the order in which the entries ended first. */
  replayed<T>(entry: ListedEntry, decode: (end: JournalEnd) => T): Promise<T> {
    if (this.#task === undefined) throw new HoldfastError("internal", "A run without a task has no journal.");
    const { trace } = this;
    if (trace === undefined) return this.#task.replayed(entry, decode);
    return this.#task.replayed(entry, (end) => {
      trace.replayed(entry, end.error !== null);
      return decode(end);
    });
  }

  /**
   * Rejects where the run is to end. A stopping server drops the handler here and never rejects, so that no code of the
   * author's takes the stop for a failure.
   */
  async checkpoint(): Promise<void> {
    const { state } = this.life;
    // While a step of another branch runs, its end releases the task, with its result in the journal.
    if (state === "draining" && !this.#slot.working) void this.#release();
    // What comes next here is for the next run: the handler does not rest until something has come for it.
    if (state === "draining" || state === "released") await this.#slot.whileBeginning(forEver);
    this.#assertGoesOn();
  }

  /**
   * Awaited before anything that is journalled begins, or goes on that earlier attempts began (`isNew` false): a checkpoint,
   * and the mark that the task can be resumed. Rejects with `limit_reached` where the journal has no room for it.
   */
  begin(isNew = true): Promise<void> {
    return this.#slot.whileBeginning(() => this.#begin(isNew));
  }

  /**
   * As `begin`, before a wait: the handler has gone on in what it does beside it, so that it is known whether it rests. Waits that begin
   * together are begun one after the other, and the last of them is the first that the handler can rest with. `prepare` comes before all of
   * that.
   */
  beginWait(isNew: boolean, prepare?: () => Promise<void>): Promise<void> {
    return this.#slot.whileBeginning(async () => {
      if (prepare !== undefined) await prepare(); // without it there is no pause: entries begin in the order of their calls
      await this.#begin(isNew);
      await nextTurn();
      await this.checkpoint();
    });
  }

  /** As `beginWait`, of a step that has failed: where the server stops, its failure is journalled before the task is released. */
  beginPause(): Promise<void> {
    return this.#slot.whileBeginning(async () => {
      await nextTurn();
      if (this.life.state === "released") await forEver();
      this.#assertGoesOn();
    });
  }

  /** Runs a step and records it: work, for which a slot is needed. Rejects where the run has ended, or is to end, before there was one. */
  working<T>(work: () => Promise<T>): Promise<T> {
    const rests = this.#task?.rests;
    const begun = (): Promise<T> => {
      if (this.life.state === "released") return forEver();
      this.#assertGoesOn();
      return work();
    };
    return this.#slot.whileWorking(rests?.isSaid === true ? () => rests.unsay().then(begun) : begun);
  }

  /** What the step has appended is written before: it does not run again. */
  async recordStep(step: HeldCommand<"record_step">): Promise<void> {
    if (this.lines.isWriting) await this.lines.written();
    await this.#task?.journal.recordStep(step);
    this.lines.stepEnded(step.key, step.error !== null);
  }

  /** Records what `prepare` returned in the run; what begins after it is the handler itself. */
  recordPrepared(prepared: HeldCommand<"record_step">): Promise<void> {
    return this.#task?.recordPrepared(prepared) ?? Promise.resolve();
  }

  /**
   * Needs no slot while the wait lasts that `begin` begins, until it ends by itself (epoch ms). A server that stops does not wait
   * for a client: the task goes back to the queue, and the handler is dropped here.
   */
  async whileWaiting<T>(begin: () => Promise<T>, until?: number): Promise<T> {
    const waiting = this.#slot.whileWaiting(begin, until);
    waiting.catch(() => undefined); // it is dropped, and not handled, where the task was released meanwhile
    this.#releaseWhereItWaits();
    try {
      return await waiting;
    } finally {
      if (this.life.state === "released") await forEver();
    }
  }

  /** From now on the task is released at the handler's next journalled call, or at once where all it does is wait. */
  drain(): void {
    this.life.change("drain");
    this.#releaseWhereItWaits();
  }

  /** Whether the handler rests, so that its frame can be dropped. */
  get canPark(): boolean {
    return this.life.state === "running" && this.#task?.rests.canPark === true;
  }

  /**
   * Drops the handler, and the frame in which it waits: it writes nothing from now on. Resolves with the task, which was given
   * back for another run when something has come for it, unless others had ended or taken it; undefined where it was deleted.
   */
  async park(over: AbortSignal): Promise<TaskRecord | undefined> {
    this.life.change("park");
    this.trace?.end({ end: "parked" });
    this.life.drop();
    this.#slot.end();
    return this.#task?.park(over);
  }

  /** Gives the task back now; the handler, if it still runs, is told that the server stops. */
  async release(): Promise<void> {
    if (await this.#release()) this.life.stop();
  }

  /** The handler ended: the slot is free again, and its calls on the context reject. */
  end(): void {
    this.life.change("end");
    this.#slot.end();
  }

  /** Resolves when none of its steps runs any more. */
  stepsEnd(): Promise<void> {
    return this.#slot.untilNotWorking();
  }

  /** Gives the slot back although the handler goes on; false where it waits for one. */
  freeSlot(): boolean {
    const { holds, hasEnded } = this.#slot;
    this.#slot.end();
    return holds || hasEnded;
  }

  async #begin(isNew: boolean): Promise<void> {
    await this.checkpoint();
    if (this.#task === undefined && this.#promote !== undefined) {
      await this.#promote();
      await this.checkpoint();
    }
    if (this.#task === undefined) return;
    this.#task.journal.begin(isNew);
    await this.#task.mark();
  }

  #assertGoesOn(): void {
    this.signal.throwIfAborted();
    if (this.life.state === "ended")
      throw new HoldfastError("fenced", "The handler of this task has returned.");
  }

  #releaseWhereItWaits(): void {
    if (this.life.state === "draining" && this.#slot.waiting && !this.#slot.working) void this.#release();
  }

  /** False where there is nothing to give back any more. */
  async #release(): Promise<boolean> {
    if (!this.life.change("release")) return false;
    this.trace?.end({ end: "released" });
    this.#slot.end(); // a step of another task may wait for it
    await this.#task?.giveBack();
    this.life.drop();
    return true;
  }
}
