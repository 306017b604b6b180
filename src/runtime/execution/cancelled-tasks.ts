import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import { type TaskRecord, versionOf } from "../../task/record.ts";
import { ConcurrencyLimit } from "../concurrency-limit.ts";
import { mayHaveBegun, mayRun } from "../dispatch/recovery.ts";
import { ofTask } from "../journal/run-life.ts";
import { Run } from "../journal/run.ts";
import type { Services } from "../services.ts";
import type { Timers } from "../timers.ts";
import { taskCaller } from "../tool/task-caller.ts";
import type { CallContext, Credentials } from "../tool/received-request.ts";
import type { Tool } from "../tool/tool.ts";
import { toolAtVersion } from "../tool/tool-config.ts";
import { Attempt, type AttemptHost } from "./attempt.ts";
import { type LeakedHandlers, linesOf, loadTask, runHandler, startHandler } from "./run-handler.ts";
import type { CommandResult } from "../../task/command.ts";
import { deadlineAfter } from "../clock.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import type { Sweeper } from "../dispatch/sweeper.ts";

export interface CancelledTasksSetup {
  readonly services: Services;
  readonly timers: Timers;
  readonly leaked: LeakedHandlers;
  readonly credentials: Credentials;
}

/**
 * Notifies handlers of cancelled tasks that ended while none of their code ran: the handler runs once more with its signal aborted, so that
 * it can stop what it started elsewhere. As many run at the same time as other handlers may, but in addition to these. Nothing of this is
 * stored, and it is not repeated.
 */
export class CancelledTasks {
  readonly #setup: CancelledTasksSetup;
  readonly #limit: ConcurrencyLimit;
  readonly #stopped = new AbortController();

  constructor(setup: CancelledTasksSetup) {
    this.#setup = setup;
    this.#limit = new ConcurrencyLimit(setup.services.options.concurrency);
  }

  /** Never rejects. */
  async notify(cancelled: TaskRecord): Promise<void> {
    const { services } = this.#setup;
    // Before they are forgotten, since the task has ended.
    const credentials = this.#setup.credentials.of(cancelled.id);
    credentials.catch(() => undefined);
    const received = this.#setup.credentials.received(cancelled.id);
    // A token that no task has: the store refuses whatever is written under it.
    const task = { ...cancelled, token: services.clock.uniqueName(), attempt: cancelled.attempt + 1 };
    const { unreadable, onError } = services;
    const current = services.registry.handlerOf(task);
    const tool = current && toolAtVersion(current, versionOf(task));
    if (tool === undefined || !services.options.roles.includes("work")) return;
    if (!mayHaveBegun(task, tool) || !mayRun(task, tool)) return;
    try {
      await this.#limit.run(() => this.#run(task, tool, { credentials: () => credentials, received }));
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      if (!isUnreadable(error)) onError(error);
      else if (await this.#isThere(task.id)) unreadable.report(task.id, error);
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** False for a task that was deleted meanwhile, which cannot be read. */
  async #isThere(id: string): Promise<boolean> {
    const task = await this.#setup.services.store.get(id).catch(() => undefined);
    return task !== undefined;
  }

  async #run(record: TaskRecord, tool: Tool, extras: Omit<CallContext, "caller">): Promise<void> {
    const { services, timers, leaked } = this.#setup;
    if (this.#stopped.signal.aborted || leaked.blocks(tool)) return;
    const loaded = await loadTask(record, services, this.#stopped.signal);
    const { origin, entries } = loaded;
    const run = new Run({
      ...ofTask(record, origin, tool, services),
      lines: linesOf(record, loaded, tool, services),
    });
    const host: AttemptHost = {
      hear: (_, event) => event.type === "fault" && services.unreadable.report(record.id, event.problem),
    };
    const call = { caller: taskCaller(record.principal, origin.caller), ...extras };
    const attempt = new Attempt({ services, timers, run, tool, call });
    attempt.hold({ record, origin, entries, host });
    const leak = Promise.withResolvers<void>();
    const unwatch = leaked.watch(run, tool, leak.resolve);
    const cancelled = new HoldfastError("fenced", `Task ${record.id} was cancelled.`);
    const cancelTimer = timers.after(services.options.cancelGraceMs, () => run.life.fence(cancelled));
    const { ended: running } = startHandler(run, () => runHandler(attempt, loaded));
    const ended = running.then(() => {
      cancelTimer();
      unwatch();
      run.end(true);
      run.life.fence(cancelled);
    });
    await Promise.race([ended, leak.promise]);
  }
}

/**
 * Cancels tasks, in one of two ways. Cooperatively: the request is durable, and the handler is notified through the change feed, or by running
 * once more if the task was parked. If the handler has not ended after the grace period, a sweeper in any process ends the task. Or at
 * once: the task ends before its handler is notified.
 */
export class Cancellation {
  readonly #services: Services;
  readonly #sweeper: Sweeper;
  /** Receives cancelled tasks that no attempt held. */
  readonly #onReleased: (task: TaskRecord) => void;
  readonly #stopped = new AbortController();

  constructor(services: Services, sweeper: Sweeper, onReleased: (task: TaskRecord) => void) {
    this.#services = services;
    this.#sweeper = sweeper;
    this.#onReleased = onReleased;
  }

  /**
   * Resolves with the task once the request is durable, or the task has ended with it if nothing has to run for that; does nothing to a finished
   * one.
   */
  async request(id: string): Promise<TaskRecord | undefined> {
    const { store, clock, options } = this.#services;
    const now = clock.now();
    const cancelBy = deadlineAfter(now, options.cancelGraceMs);
    const result = await store.write<"request_cancel">({ type: "request_cancel", now, id, cancelBy });
    if (!result.ok) return undefined;
    const { task } = result;
    const tool = this.#services.registry.handlerOf(task);
    const next = { ...task, attempt: task.attempt + 1 };
    const hasBegun = tool === undefined ? task.journalled : mayHaveBegun(next, tool);
    // Of what has not begun, there is nothing to run again for its handler's sake.
    if (task.state === "queued" && !hasBegun) await this.#finish(id);
    else this.#sweeper.consider(task.sweepAt);
    return task;
  }

  /** Resolves once the task has ended as cancelled, or with the refusal if it had ended before. */
  async now(id: string, unless?: "unless wanted"): Promise<CommandResult<"cancel">> {
    const { store, clock } = this.#services;
    const cancel = { type: "cancel", now: clock.now(), id } as const;
    const result = await store.write<"cancel">(
      unless === undefined ? cancel : { ...cancel, unlessWanted: true },
    );
    if (result.ok && result.released) this.#onReleased(result.task);
    return result;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #finish(id: string): Promise<void> {
    const { store, clock } = this.#services;
    const cancel = () => store.write({ type: "cancel", now: clock.now(), id });
    const { signal } = this.#stopped;
    await untilStoreAnswers(cancel, this.#services, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error; // what was requested is stored, and the sweeper of another process ends the task
    });
  }
}
