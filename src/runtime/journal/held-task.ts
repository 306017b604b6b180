import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { HoldfastError, isStoreRefusal, isUnreadable } from "../../task/fault.ts";
import type { ListedEntry } from "../../store/store.ts";
import { roundsPrefix } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import {
  type HeldCommand,
  type HeldCommandName,
  type OpeningCommandName,
  piecesInBlobs,
  piecesInStore,
  type PieceWriter,
  type TaskWriter,
} from "./piece-writer.ts";
import { Journal } from "./journal.ts";
import { type AttemptEvent, forEver, type RunLife } from "./run-life.ts";
import { blockReasonOf, type RunRefusal } from "./claimed-keys.ts";
import { Rests } from "./rests.ts";
import type { SlotHolder } from "./slot-holder.ts";
import { blockHeld } from "../blocking.ts";
import { isLost } from "../../store/lost-store.ts";

/** The round of a loop that comes next. */
export type NextRoundOfLoop = Pick<TaskCommand<"next_round">, "key" | "value" | "round">;

export interface HeldTaskSetup {
  readonly services: Services;
  readonly task: TaskRecord;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  readonly life: RunLife;
  readonly slot: SlotHolder;
  /** Whether the task may be parked. */
  readonly parks: boolean;
  readonly tell: (event: AttemptEvent) => void;
}

/** A task held by a run: what is written under its token, and what others do to it meanwhile. */
export class HeldTask implements TaskWriter {
  readonly id: string;
  /** Under which it writes. */
  readonly token: string;
  readonly journal: Journal;
  readonly rests: Rests;
  readonly #services: Services;
  readonly #life: RunLife;
  readonly #slot: SlotHolder;
  readonly #tell: (event: AttemptEvent) => void;
  readonly #attempt: number;
  readonly #isChild: boolean;
  #marked: Promise<unknown> | undefined;
  /** Whether the store has had it as one that a later attempt can resume; undefined while it takes that back. */
  #wasMarked: boolean | undefined;
  /** The newest state of what blocked it. */
  #blocked: TaskRecord["blocked"];
  /** The highest version of the record seen so far. */
  #seen: number;

  constructor({ services, task, entries, life, slot, parks, tell }: HeldTaskSetup) {
    if (task.token === null) throw new HoldfastError("internal", `No attempt holds task ${task.id}.`);
    this.id = task.id;
    this.#services = services;
    this.#life = life;
    this.#slot = slot;
    this.#tell = tell;
    this.token = task.token;
    this.#attempt = task.attempt;
    this.#isChild = task.parent !== null;
    this.#seen = task.version;
    this.#blocked = task.blocked;
    this.journal = new Journal(task, entries, services, life, slot, this);
    const { journal } = this;
    this.rests = new Rests({ task: this, journal, life, slot, parks, clock: services.clock, tell });
    this.#wasMarked = task.journalled;
    if (task.journalled) this.#marked = Promise.resolve();
    if (task.cancelRequestedAt !== null) life.requestCancel();
  }

  /** Whether a record of this version is newer than what was seen. */
  isBehind(version: number): boolean {
    return version > this.#seen && !this.#life.stops("write");
  }

  /** The highest version of the record seen so far. */
  get seen(): number {
    return this.#seen;
  }

  /**
   * Reacts to others' changes of the task, by its record alone; undefined: it was deleted. `isUndone`: the record was read after newer versions
   * were seen, which a failover has undone.
   */
  saw(task: TaskRecord | undefined, isUndone = false): void {
    const { state } = this.#life;
    if (state === "released") return;
    if (task !== undefined) {
      if (state !== "ended") this.journal.saw(task);
      if (task.version < this.#seen && !isUndone) return;
      // The same version may have another content, after a failover that has undone the first one.
      if (task.version !== this.#seen) this.rests.saw(task);
      this.#seen = task.version;
      this.#blocked = task.blocked;
      if (task.cancelRequestedAt !== null) this.#life.requestCancel();
    }
    if (task?.token !== this.token) return this.#life.fence(this.#fenced(this.#whyFenced(task)));
    if (this.#wasMarked === undefined) return;
    if (this.#wasMarked && !task.journalled) this.#markAgain();
    this.#wasMarked ||= task.journalled;
  }

  /**
   * Call it before something begins that must not happen twice. Undefined: the task is certainly held. Otherwise it resolves once that was
   * looked up, and the run is fenced if it is not.
   */
  assured(): Promise<void> | undefined {
    return this.#services.lease.holds ? undefined : this.#lookAgain();
  }

  /** Whether a later attempt can resume it. */
  get isMarked(): boolean {
    return this.#wasMarked === true;
  }

  /** Marks the task, once, as one that a later attempt can resume. */
  mark(): Promise<unknown> {
    this.#marked ??= this.write("mark", {});
    return this.#marked;
  }

  /** A failover has undone it. */
  #markAgain(): void {
    this.#marked = undefined;
    this.#wasMarked = false;
    this.mark().catch(() => undefined); // the next write fails in the same way
  }

  /** From here on, the handler's first journalled call decides whether the attempt can be resumed. */
  recordPrepared(prepared: HeldCommand<"record_step">): Promise<void> {
    return this.#unmark(() => this.journal.recordStep({ ...prepared, beforeHandler: true }));
  }

  /** The same after a wait before the handler, if it was recorded. */
  async beginAfterWait(): Promise<void> {
    if (!this.rests.mayBeRecorded) return;
    await this.rests.settled();
    await this.#unmark(() => this.write("mark", { beforeHandler: true }));
  }

  async #unmark(write: () => Promise<unknown>): Promise<void> {
    this.#wasMarked = undefined; // the write takes the mark back, which no failover has undone
    await write();
    this.#marked = undefined;
    this.#wasMarked = false;
  }

  /** Writes under the token; rejects with `fenced`, and aborts the handler, when the task is no longer held. */
  async write<N extends HeldCommandName>(type: N, command: HeldCommand<N>): Promise<CommandResult<N>> {
    const { store, clock } = this.#services;
    const full = { ...command, type, now: clock.now(), id: this.id, token: this.token };
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

  /** Takes the pieces of an artifact. Throws if the task can have none. */
  pieces(key: string): PieceWriter {
    if (this.#isChild)
      throw new HoldfastError(
        "invalid_request",
        "A tool that another tool called has no artifacts: its task is deleted when it ends. Return the data, and let the calling tool store it.",
      );
    const { store, blobs } = this.#services;
    if (store.pieces === undefined)
      throw new HoldfastError("configuration", "The store of this server keeps no artifacts.");
    return blobs === undefined ? piecesInStore(this, key) : piecesInBlobs(this, this.id, key, blobs);
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
    const { store, clock, lease } = this.#services;
    const { id, token } = this;
    const park = { type: "park", now: clock.now(), id, token } as const;
    const parked = untilStoreAnswers(() => store.write<"park">(park), this.#services, over);
    const result = await lease.knows([token], parked);
    if (result.ok) return result.task;
    return untilStoreAnswers(() => store.get(this.id), this.#services, over); // it has ended, or was taken
  }

  /** Returns the task to the queue. Never rejects: if the store fails, the next start recovers the task. */
  async giveBack(): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      await store.write({ type: "release", now: clock.now(), id: this.id, token: this.token });
    } catch (error) {
      onError(error);
    }
  }

  /** Returns the task to the queue, blocked. Never rejects. */
  block(refusal: RunRefusal, version: number): Promise<void> {
    const { store } = this.#services;
    const cancelRequestedAt = this.#life.cancelRequested ? 0 : null;
    const task = { id: this.id, token: this.token, blocked: this.#blocked, cancelRequestedAt };
    return this.#return("blocked", async () => {
      const why = await blockReasonOf(refusal, version, (key) => store.journalEntry(this.id, key));
      return store.write(blockHeld(why, task, this.#services, refusal.reason === "arguments"));
    });
  }

  /** Returns the task to the queue with the next round of a loop. Never rejects. */
  nextRound(next: NextRoundOfLoop): Promise<void> {
    const { store, clock } = this.#services;
    const { id, token } = this;
    const open = this.journal.openUnder(roundsPrefix(next.key));
    const command = { type: "next_round", now: clock.now(), id, token, open, ...next } as const;
    return this.#return("next round", () => store.write<"next_round">(command));
  }

  /** However long the store fails: this process goes on. */
  async #return(
    why: "blocked" | "next round",
    write: () => Promise<CommandResult<"block" | "next_round">>,
  ): Promise<void> {
    let task: TaskRecord | undefined;
    try {
      const result = await untilStoreAnswers(write, this.#services, this.#life.over);
      if (result.ok) ({ task } = result);
    } catch (error) {
      if (isStoreRefusal(error)) this.#tell({ type: "fault", problem: error });
      else if (!isLost(error)) this.#services.onError(error);
    }
    this.#tell({ type: "returned", why, task });
  }

  async #lookAgain(): Promise<void> {
    const { store, lease } = this.#services;
    await this.persist(() => lease.hold());
    const seen = this.#seen;
    const task = await this.persist(() => store.get(this.id));
    this.saw(task, task !== undefined && task.version < seen);
  }

  /** What its handler needs of its journal is damaged. */
  async failUnreadable(problem: HoldfastError): Promise<void> {
    const { store } = this.#services;
    // A task that was deleted, or taken by others who ended it, may have no journal any more.
    await this.persist(() => store.get(this.id)).then(
      (task) => this.saw(task),
      () => undefined,
    );
    const { state } = this.#life;
    if (state === "fenced" || state === "released") return;
    this.#life.fence(this.#fenced("can no longer be read"));
    this.#tell({ type: "fault", problem });
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
