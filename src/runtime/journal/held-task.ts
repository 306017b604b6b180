import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { JournalEnd } from "../../task/journal.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";
import { Journal, type HeldCommand, type HeldCommandName, type OpeningCommandName } from "./journal.ts";
import { forEver, type RunLife } from "./run-life.ts";
import { Rests } from "./rests.ts";
import type { SlotHolder } from "./slot-holder.ts";

export interface HeldTaskSetup {
  readonly services: Services;
  readonly task: TaskRecord;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  readonly life: RunLife;
  readonly slot: SlotHolder;
  /** Whether the task may be parked. */
  readonly parks: boolean;
  /** Called when the handler rests, and the task can be parked. */
  readonly onRest: () => void;
  /** Called when it has to continue. */
  readonly onStir: () => void;
  /** Ends the task if something that the handler needs cannot be read. */
  readonly onUnreadable: (problem: HoldfastError) => void;
}

/** A task held by a run: what is written under its token, and what others do to it meanwhile. */
export class HeldTask {
  readonly id: string;
  readonly journal: Journal;
  readonly rests: Rests;
  readonly #services: Services;
  readonly #life: RunLife;
  readonly #slot: SlotHolder;
  readonly #onUnreadable: HeldTaskSetup["onUnreadable"];
  readonly #token: string;
  readonly #attempt: number;
  #marked: Promise<unknown> | undefined;
  /** The highest version of the record seen so far. */
  #seen: number;

  constructor({ services, task, entries, life, slot, parks, onRest, onStir, onUnreadable }: HeldTaskSetup) {
    if (task.token === null) throw new HoldfastError("internal", `No attempt holds task ${task.id}.`);
    this.id = task.id;
    this.#services = services;
    this.#life = life;
    this.#slot = slot;
    this.#onUnreadable = onUnreadable;
    this.#token = task.token;
    this.#attempt = task.attempt;
    this.#seen = task.version;
    this.journal = new Journal({
      task,
      entries,
      limits: services.options,
      store: services.store,
      slot,
      write: (type, command) => this.write(type, command),
      persist: (ask) => this.persist(ask),
    });
    this.rests = new Rests({
      clock: services.clock,
      parks,
      idleUntil: () => (life.signal.aborted || life.state === "ended" ? undefined : slot.idleUntil),
      open: () => this.journal.open,
      mark: (rest) => this.write("mark", rest === undefined ? {} : { rest }),
      onRest,
      onStir,
    });
    slot.onIdle(() => this.rests.check());
    if (task.journalled) this.#marked = Promise.resolve();
    if (task.cancelRequestedAt !== null) life.requestCancel();
  }

  /** Whether a record of this version is newer than what was seen. */
  isBehind(version: number): boolean {
    return version > this.#seen && this.#life.state !== "released";
  }

  /** Reacts to others' changes of the task, by its record alone; undefined: it was deleted. */
  saw(task: TaskRecord | undefined): void {
    const { state } = this.#life;
    if (state === "released") return;
    if (task !== undefined) {
      if (state !== "ended") this.journal.saw(task);
      if (task.version <= this.#seen) return;
      this.#seen = task.version;
      this.rests.saw(task);
      if (task.cancelRequestedAt !== null) this.#life.requestCancel();
    }
    if (task?.token !== this.#token) this.#life.fence(this.#fenced(this.#whyFenced(task)));
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
      const end = await this.journal.replayed(entry, decode);
      return this.#life.state === "released" ? await forEver() : end;
    } catch (error) {
      if (isUnreadable(error)) await this.#failUnreadable(error);
      if (this.#life.state === "released") await forEver();
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
    if (this.#life.state === "released") await forEver();
    if (this.#life.state === "fenced") throw this.#life.over.reason;
    const result = await this.persist(() => store.write<N & TaskCommandName>(pending)).catch(
      async (error: unknown) => {
        if (this.#life.state === "released") await forEver(); // the store may be closed by now
        throw error;
      },
    );
    if (result.ok && type !== "settle") this.saw(result.task);
    if (result.ok || result.reason === "duplicate" || result.reason === "state") return result;
    if (this.#life.state === "released") await forEver();
    const fenced = this.#fenced("is no longer held by this attempt");
    this.#life.fence(fenced);
    throw fenced;
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
    this.#onUnreadable(problem);
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
