import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { JournalEntry, JournalKey } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import { nextAttemptState, type AttemptEvent, type AttemptState } from "./attempt-state.ts";
import type { AttemptJournal } from "./attempt-journal.ts";
import { ClaimedKeys } from "./claimed-keys.ts";
import type { Clock } from "../clock.ts";
import { HeldJournal, type HeldCommand, type HeldCommandName } from "./held-journal.ts";
import type { Slots } from "../dispatch/slots.ts";
import { SlotHolder } from "./slot-holder.ts";
import type { UnreadableTasks } from "../unreadable-tasks.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

export interface AttemptSetup {
  readonly task: TaskRecord;
  /** What earlier attempts journalled. */
  readonly journal: readonly JournalEntry[];
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly slots: Slots;
  readonly maxBodyBytes: number;
  /** The keys that the handler used before it had a task. */
  readonly keys?: ClaimedKeys;
  readonly onError: (error: unknown) => void;
  readonly unreadable: UnreadableTasks;
}

/** A promise of its own for each call: one for all would hold every frame that was dropped on it. */
function forEver(): Promise<never> {
  return new Promise(() => undefined);
}

/**
 * One execution of a handler, under a token. It is the handler's journal, it owns a concurrency slot while it does
 * not wait, and every write of it is refused once the task is somebody else's.
 */
export class Attempt implements AttemptJournal {
  readonly taskId: string;
  readonly wireId: string;
  readonly attempt: number;
  readonly maxBodyBytes: number;
  readonly task: TaskRecord;
  readonly journal: HeldJournal;
  readonly #setup: AttemptSetup;
  readonly #token: string;
  readonly #keys: ClaimedKeys;
  readonly #abort = new AbortController();
  readonly #released = Promise.withResolvers<void>();
  #marked: Promise<void> | undefined;
  readonly #slot: SlotHolder;
  readonly #over = new AbortController();
  /** The highest version of the record that was seen. */
  #seen: number;
  #state: AttemptState = "running";
  #cancelRequested = false;

  constructor(setup: AttemptSetup) {
    const { task } = setup;
    if (task.token === null) throw new HoldfastError("internal", `Task ${task.id} is held by no attempt.`);
    this.#setup = setup;
    this.#token = task.token;
    this.#keys = setup.keys ?? new ClaimedKeys();
    this.#slot = new SlotHolder(setup.slots);
    this.task = task;
    this.taskId = task.id;
    this.wireId = task.wireId;
    this.attempt = task.attempt;
    this.maxBodyBytes = setup.maxBodyBytes;
    this.journal = new HeldJournal({
      task,
      entries: setup.journal,
      store: setup.store,
      slot: this.#slot,
      write: (type, command) => this.write(type, command),
      persist: (ask) => this.persist(ask),
    });
    if (task.journalled) this.#marked = Promise.resolve();
    this.#seen = task.version;
    if (task.cancelRequestedAt !== null) this.#requestCancel();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts when the task is no longer this attempt's; a cancel request leaves it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  get state(): AttemptState {
    return this.#state;
  }

  /** Resolves once the task was given back. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  /** True once the requestor asked to cancel: a handler that throws from then on ends as cancelled. */
  get cancelRequested(): boolean {
    return this.#cancelRequested;
  }

  /** Whether a record of this version is newer than what was seen. */
  isBehind(version: number): boolean {
    return version > this.#seen && this.#state !== "released";
  }

  /** Reacts to what others did to the task, by its record alone; undefined: it was deleted. */
  saw(task: TaskRecord | undefined): void {
    if (this.#state === "released") return;
    if (task !== undefined) {
      if (this.#state !== "ended") this.journal.saw(task);
      if (task.version <= this.#seen) return;
      this.#seen = task.version;
      if (task.cancelRequestedAt !== null) this.#requestCancel();
    }
    if (task?.token !== this.#token) this.#fence(this.#whyFenced(task));
  }

  /** Tells the handler that the requestor wants it to end; its calls on the context reject from now on. */
  #requestCancel(): void {
    this.#cancelRequested = true;
    this.#abort.abort(new DOMException("The task was cancelled.", "AbortError"));
  }

  #whyFenced(task: TaskRecord | undefined): string {
    if (task === undefined) return "was deleted";
    if (task.state === "cancelled") return "was cancelled";
    // Only the attempt itself settles its task, and the sweeper where the task's time is over.
    if (task.state === "settled" && task.attempt === this.attempt) return "came to the end of its life";
    return "was taken from this attempt";
  }

  /** Tells the handler, unless it has ended, that the task is no longer its own. */
  #fence(why = "is no longer held by this attempt"): HoldfastError {
    const fenced = new HoldfastError("fenced", `Task ${this.taskId} ${why}.`);
    const ended = this.#state === "ended";
    if (!this.#change("fence")) return fenced;
    this.#over.abort(fenced);
    if (!ended) this.#abort.abort(fenced);
    return fenced;
  }

  claim(key: JournalKey): string {
    return this.#keys.claim(key);
  }

  find(key: string): JournalEntry | undefined {
    return this.journal.find(key);
  }

  /** A stopping server drops the handler here and never rejects, so that no code of the author's takes the stop
   * for a failure. */
  async checkpoint(): Promise<void> {
    // While a step of another branch runs, its end releases the task, with its result in the journal.
    if (this.#state === "draining" && !this.#slot.working) void this.#release();
    if (this.#state === "draining" || this.#state === "released") await forEver();
    this.signal.throwIfAborted();
    if (this.#state === "ended") throw new HoldfastError("fenced", "The handler of this task has returned.");
  }

  replayed(entry: JournalEntry): Promise<void> {
    return this.journal.replayed(entry);
  }

  async begin(): Promise<void> {
    await this.checkpoint();
    this.#marked ??= this.write("mark", { waiting: false }).then(() => undefined);
    await this.#marked;
  }

  /** From here on the handler's own first journalled call says whether the attempt can be resumed. */
  async recordPrepared(key: string, value: string | null): Promise<void> {
    await this.journal.recordStep({ key, value, error: null, beforeHandler: true });
    this.#marked = undefined;
  }

  recordStep(key: string, value: string | null, error: string | null): Promise<void> {
    return this.journal.recordStep({ key, value, error });
  }

  /** Writes under the token; rejects with `fenced`, and aborts the handler, when the task is no longer held. */
  async write<N extends HeldCommandName>(type: N, command: HeldCommand<N>): Promise<CommandResult<N>> {
    const { store, clock } = this.#setup;
    const full = { ...command, type, now: clock.now(), id: this.taskId, token: this.#token };
    // The spread has exactly the members of the command, which TypeScript cannot see through the generic name.
    const pending = full as unknown as TaskCommand<N>;
    if (this.#state === "released") await forEver();
    const result = await this.persist(() => store.write<N & TaskCommandName>(pending));
    if (result.ok && type !== "settle") this.saw(result.task);
    if (result.ok || result.reason === "duplicate" || result.reason === "state") return result;
    if (this.state === "released") await forEver();
    throw this.#fence();
  }

  /**
   * Asks the store for as long as the task is this attempt's, however long the store fails. Rejects with
   * `task_unreadable`, which is reported, where what is stored of the task is damaged.
   */
  async persist<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await untilStoreAnswers(ask, this.#setup, this.#over.signal);
    } catch (error) {
      if (isUnreadable(error)) this.#setup.unreadable.report(this.taskId, error);
      throw error;
    }
  }

  /** Runs a step and writes its result, for which the handler needs its slot. */
  working<T>(work: () => Promise<T>): Promise<T> {
    return this.#slot.whileWorking(work);
  }

  /**
   * Needs no slot while `wait` lasts. A server that stops does not wait for a client: the task goes back to the queue,
   * and the handler is dropped here.
   */
  async whileWaiting<T>(wait: Promise<T>): Promise<T> {
    const waiting = this.#slot.whileWaiting(wait);
    waiting.catch(() => undefined); // it is dropped, and not handled, where the task was given back meanwhile
    this.#releaseWhereItWaits();
    try {
      return await waiting;
    } finally {
      if (this.state === "released") await forEver();
    }
  }

  /** From now on the task is released at the handler's next journalled call, or at once where all it does is wait. */
  drain(): void {
    this.#change("drain");
    this.#releaseWhereItWaits();
  }

  /** Gives the task back now; the handler, if it still runs, is told that the server stops. */
  async release(): Promise<void> {
    if (!(await this.#release())) return;
    const stopping = new HoldfastError("stopping", "The server stops.");
    this.#over.abort(stopping);
    this.#abort.abort(stopping);
  }

  /** The handler ended: the slot is free again, and its calls on the context reject. */
  end(): void {
    this.#change("end");
    this.#slot.end();
  }

  /** Gives the slot back although the handler goes on; false where it had none. */
  freeSlot(): boolean {
    const { holds } = this.#slot;
    this.#slot.end();
    return holds;
  }

  #releaseWhereItWaits(): void {
    if (this.#state === "draining" && this.#slot.waiting && !this.#slot.working) void this.#release();
  }

  /** False where there is nothing to give back any more. */
  async #release(): Promise<boolean> {
    if (!this.#change("release")) return false;
    const { store, clock, onError } = this.#setup;
    try {
      await store.write({ type: "release", now: clock.now(), id: this.taskId, token: this.#token });
    } catch (error) {
      onError(error); // the next start finds the task running and recovers it
    }
    this.#released.resolve();
    return true;
  }

  /** The one place that changes the state; false where the event changes nothing. */
  #change(event: AttemptEvent): boolean {
    const next = nextAttemptState(this.#state, event);
    if (next !== undefined) this.#state = next;
    return next !== undefined;
  }
}
