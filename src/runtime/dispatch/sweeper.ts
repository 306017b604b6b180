import { errorOutcome, expiredError, isTerminal } from "../../task/outcome.ts";
import { endingOf } from "../../task/status-text.ts";
import { expiresAt, isOver } from "../../task/expiry.ts";
import { HoldfastError, isStoreRefusal, isUnreadable } from "../../task/fault.ts";
import { isLost } from "../../store/lost-store.ts";
import type { TaskRecord } from "../../task/record.ts";
import { latestTime } from "../../task/time.ts";
import type { StoreClock } from "../clock.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Services } from "../services.ts";

const batch = 200;
/** Maximum length of a timer, in case a jump of the clock was not noticed, unless the clock says otherwise. */
const longestTimerMs = 60_000;
const pauseAfterErrorMs = 5_000;
/** How long a due task is left to other processes if they should come first. */
const yieldedMs = 1_000;
/** The status texts of tasks that are cancelled by themselves. */
const callerLeft = "Cancelled because the caller left and did not call again.";
const idUndelivered = "Cancelled because its id did not reach the caller, who never asked for the task.";

/** How long a task that is due by its row, and not by the time elapsed, is not looked at again. */
const lookedAgainMs = 60_000;

/** When an unfinished task is to end (epoch ms): its life lasts as long also if the clock was set ahead meanwhile. */
function dueAt({ expiry, createdAt, runUntil, cancelBy }: TaskRecord, clock: StoreClock): number {
  const end = expiresAt(expiry, createdAt, runUntil);
  const life = end === null ? Infinity : Math.max(end, clock.afterJumps(end, createdAt));
  return Math.min(life, cancelBy ?? Infinity);
}

/** Whether an unfinished task's time is over. The first process that sees it ends the task as expired or cancelled. */
export function isDue(task: TaskRecord, clock: StoreClock): boolean {
  return !isTerminal(task.state) && dueAt(task, clock) <= clock.now();
}

/** Whether a finished task's time is over: from then on, only the sweeper sees it. */
export function isGone(task: TaskRecord, clock: StoreClock): boolean {
  const { expiry, createdAt, finishedAt } = task;
  return (
    finishedAt !== null && isOver(task, clock.nowSince(expiry.from === "created" ? createdAt : finishedAt))
  );
}

/** The services that it needs, so that others can sweep too. */
export interface SweeperServices extends Pick<Services, "store" | "clock" | "onError" | "unreadable"> {
  readonly options: Pick<RuntimeSettings, "expiredVisibleMs">;
}

export interface SweeperListeners {
  /** Whether other processes should come first for due tasks, because they can tell or run their handlers. */
  readonly yields?: () => boolean;
  /** Called when tasks were woken. */
  readonly onWoken?: () => void;
  /** Receives cancelled tasks that no attempt held. */
  readonly onReleased?: (task: TaskRecord) => void;
}

/** Ends expired tasks, deletes finished ones at the end of their time, and wakes those that wait until a time, in batches. */
export class Sweeper {
  readonly #services: SweeperServices;
  readonly #listeners: SweeperListeners;
  #cancelTimer: (() => void) | undefined;
  /** The time of the timer. While a sweep runs, the earliest time that came up meanwhile. */
  #armedFor = Number.POSITIVE_INFINITY;
  #sweeping: Promise<void> | undefined;
  #tidying: Promise<void> | undefined;
  #stopped = true;
  /** Whether the clock was set back since the last sweep. */
  #setBack = false;
  /** Tasks whose record cannot be read, or whose end the store refuses for good: they stay due, and are ignored until another process starts. */
  readonly #endless = new Set<string>();
  /** When tasks are looked at again that are not due yet, although their rows say so, since the clock was set ahead. */
  readonly #later = new Map<string, number>();

  constructor(services: SweeperServices, listeners: SweeperListeners = {}) {
    this.#services = services;
    this.#listeners = listeners;
  }

  /** Resolves after the first sweep, which takes long if many tasks became due before. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await Promise.all([this.#sweeping, this.#tidying]);
  }

  /** Sets when the sweeper next has work; null: never. */
  consider(at: number | null): void {
    if (at === null || at >= this.#armedFor) return;
    if (this.#sweeping === undefined) this.#arm(at);
    else this.#armedFor = at;
  }

  /** The clock has jumped: what was due late may be due now. If it was set back, what waits may be due earlier than its row says. */
  look(isSetBack: boolean): void {
    this.#setBack ||= isSetBack;
    if (isSetBack) this.#later.clear(); // their times would now come that much later
    if (this.#setBack) this.consider(0);
    else if (this.#sweeping === undefined) this.#arm(this.#armedFor);
  }

  /** The task, ended if it has expired and no sweep has ended it yet. */
  async ended(task: TaskRecord): Promise<TaskRecord> {
    const now = this.#services.clock.now();
    const { cancelBy } = task;
    const isLeft = cancelBy !== null && cancelBy <= now && cancelBy > now - this.#yieldMs;
    if (!isDue(task, this.#services.clock) || isLeft) return task;
    await this.end(task.id);
    return (await this.#services.store.get(task.id)) ?? task;
  }

  get #yieldMs(): number {
    return this.#listeners.yields?.() === true ? yieldedMs : 0;
  }

  get #longestTimerMs(): number {
    return this.#services.clock.longestTimerMs ?? longestTimerMs;
  }

  #arm(at: number): void {
    if (this.#stopped) return;
    this.#cancelTimer?.();
    this.#armedFor = at;
    const ms = Math.min(Math.max(0, at - this.#services.clock.now()), this.#longestTimerMs);
    this.#cancelTimer = this.#services.clock.after(ms, () => {
      void this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#sweeping = this.#sweepOnce();
    await this.#sweeping;
    this.#sweeping = undefined;
    this.#tidying ??= this.#tidyUp().finally(() => (this.#tidying = undefined));
    this.#arm(Math.min(this.#armedFor, this.#services.clock.now() + this.#longestTimerMs));
  }

  async #sweepOnce(): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      const yieldMs = this.#yieldMs;
      const sweptUntil = await this.#endDue(yieldMs);
      await Promise.all([this.#wakeDue(yieldMs), this.#deleteDue()]); // in one commit
      // What could not be ended is still due: to try again at once would be a loop without a pause.
      if (sweptUntil === undefined) this.consider(clock.now() + pauseAfterErrorMs);
      else {
        const next = await store.nextSweepAt(sweptUntil);
        this.consider(next === null ? null : next + yieldMs);
      }
    } catch (error) {
      if (!isLost(error)) onError(error); // which is said once, and not here
      this.consider(clock.now() + pauseAfterErrorMs);
    }
  }

  /** Deletes what deleted tasks have left. It may be much: sweeps do not wait for it. */
  async #tidyUp(): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      let isLeft = true;
      while (isLeft && !this.#stopped) isLeft = (await store.pieces?.deleteLeft?.()) ?? false;
    } catch (error) {
      if (!isLost(error)) onError(error);
      this.consider(clock.now() + pauseAfterErrorMs);
    }
  }

  /** Resolves with the time until which all due tasks have ended, or undefined if one has to be tried again. */
  async #endDue(yieldMs: number): Promise<number | undefined> {
    const { store, clock } = this.#services;
    const failed = new Set<string>();
    for (;;) {
      const now = clock.now();
      const until = now - yieldMs;
      for (const [id, at] of this.#later) if (at <= now) this.#later.delete(id);
      // Where there are many of the last kind, ever larger batches come to their end.
      const passedOver = failed.size + this.#endless.size + 2 * this.#later.size;
      const found = await store.due(until, batch + passedOver);
      const due = found.filter((id) => !failed.has(id) && !this.#endless.has(id) && !this.#later.has(id));
      const ended = await Promise.all(due.map(async (id) => (await this.#isLater(id)) || this.end(id, now)));
      // One that cannot be ended must not keep the others alive.
      for (const [index, id] of due.entries()) if (ended[index] === false) failed.add(id);
      const storeFails = due.length > 0 && !ended.includes(true);
      if (due.length < batch || storeFails || this.#stopped) return failed.size > 0 ? undefined : until;
    }
  }

  async #isLater(id: string): Promise<boolean> {
    const { store, clock } = this.#services;
    if (!clock.wasSetAhead) return false;
    const task = await store.get(id).catch(() => undefined); // what is wrong with it is said where it ends
    const at = task === undefined ? 0 : dueAt(task, clock);
    const now = clock.now();
    if (at <= now) return false;
    const next = Math.min(at, now + lookedAgainMs);
    this.#later.set(id, next);
    this.consider(next);
    return true;
  }

  /** Ends a task that has expired at `now`, even if others should come first. False if the store failed, and a retry may succeed. */
  async end(id: string, now = this.#services.clock.now()): Promise<boolean> {
    const { store, options, onError, unreadable } = this.#services;
    const visibleUntil = now + options.expiredVisibleMs;
    const ending = endingOf(errorOutcome(expiredError));
    try {
      const expiry = { type: "expire", now, id, ...ending, visibleUntil } as const;
      const result = await store.write<"expire">(expiry);
      if (!result.ok && result.reason === "not_due") await this.#cancel(id, now);
      return true;
    } catch (error) {
      if (isUnreadable(error)) unreadable.report(id, error);
      else onError(error);
      if (!isUnreadable(error) && !isStoreRefusal(error)) return false;
      this.#endless.add(id);
      return true;
    }
  }

  async #cancel(id: string, now: number): Promise<void> {
    const { store } = this.#services;
    const statusMessage = (await store.get(id))?.generation === "plain" ? callerLeft : idUndelivered;
    const cancel = { type: "cancel", now, id, statusMessage, scheduled: true } as const;
    const result = await store.write<"cancel">(cancel);
    if (result.ok && result.released) this.#listeners.onReleased?.(result.task);
  }

  async #wakeDue(yieldMs: number): Promise<void> {
    const { store, clock, unreadable } = this.#services;
    const wasSetBack = this.#setBack;
    const until = wasSetBack ? { until: latestTime } : {};
    this.#setBack = false; // by then; it may be set back meanwhile
    try {
      for (;;) {
        const wake = { type: "wake", now: clock.now() - yieldMs, ...until, limit: batch } as const;
        const result = await store.write<"wake">(wake);
        for (const { id, problem } of result.unreadable) {
          unreadable.report(id, new HoldfastError("task_unreadable", problem));
        }
        if (result.woken > 0) this.#listeners.onWoken?.();
        if (result.woken < batch || this.#stopped) return;
      }
    } catch (error) {
      this.#setBack ||= wasSetBack; // the next sweep wakes them
      throw error;
    }
  }

  async #deleteDue(): Promise<void> {
    const { store, clock } = this.#services;
    for (;;) {
      const { deleted } = await store.write({ type: "delete_expired", now: clock.pastForAll, limit: batch });
      if (deleted.length < batch || this.#stopped) return;
    }
  }
}
