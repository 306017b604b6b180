import { HoldfastError, isStoreFault } from "../../task/fault.ts";
import type { Outcome } from "../../task/outcome.ts";
import { taskId } from "../../task/record-changes.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import { ofTask } from "../journal/run-life.ts";
import { Run } from "../journal/run.ts";
import { TaskLines } from "../journal/task-lines.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import type { InlineRun } from "../runtime.ts";
import type { Services } from "../services.ts";
import { directOutcome, RunTrace } from "../telemetry/telemetry.ts";
import type { Timers } from "../timers.ts";
import { type CallContext, credentialsOf } from "../tool/received-request.ts";
import { whenAborted } from "../wait-for.ts";
import { Attempt, type DirectCaller } from "./attempt.ts";
import { endAttempt } from "./end-attempt.ts";
import { runHandler, startHandler } from "./run-handler.ts";

/** How a run without a record becomes one with a task. */
export interface Promotion {
  readonly afterMs: number;
  /** It already has a slot from these. */
  readonly slots: PrincipalSlots;
  /** Creates the record, already running, and lets the attempt hold it. Rejects with the store's error. */
  readonly makeTask: (attempt: Attempt) => Promise<void>;
  /** Called when the handler has ended. */
  readonly onEnd: () => void;
}

export interface DirectRunSetup extends Pick<
  InlineRun,
  "tool" | "arguments" | "prepared" | "prepareInTask" | "signal"
> {
  /** The id of a task that is made for it. */
  readonly id: string;
  readonly call: CallContext;
  readonly direct: DirectCaller;
  readonly services: Services;
  readonly timers: Timers;
  /** Left out if nothing is traced. */
  readonly trace: RunTrace | undefined;
  /** Left out for a run that stays without a task. */
  readonly promotion?: Promotion;
}

/** How a run ended for its caller. */
export type DirectEnd = { readonly kind: "task" } | { readonly kind: "outcome"; readonly outcome: Outcome };

/**
 * A handler that begins without a record. What always holds:
 *
 * 1. Without a `promotion` nothing is ever stored: steps follow the same rules, but what needs a task is refused.
 * 2. With one, the record is created, running, before anything is journalled, or once the time is over; from there on everything is
 *    durable as in any other run, and the caller gets the task.
 * 3. A task that is being made when the handler ends, or its caller leaves, is made: its id may be on its way.
 */
export class DirectRun {
  readonly attempt: Attempt;
  readonly #setup: DirectRunSetup;
  readonly #promoted = Promise.withResolvers<DirectEnd>();
  #promotion: Promise<void> | undefined;

  constructor(setup: DirectRunSetup) {
    const { id, tool, services, timers, trace, call, direct, promotion } = setup;
    this.#setup = setup;
    const areKept = promotion === undefined || services.store.logs !== undefined;
    const task = { id, wireId: id, attempt: 1, toolVersion: tool.version };
    const run = new Run({
      ...ofTask(task, {}, tool, services, timers),
      lines: new TaskLines({ limits: services.options, areKept }),
      trace,
      ...(promotion && { slots: promotion.slots, promote: () => this.#promoteForHandler() }),
    });
    this.attempt = new Attempt({ services, timers, run, tool, call, direct });
  }

  /** Resolves with the direct answer, or as soon as there is a task. */
  async start(): Promise<DirectEnd> {
    const { signal, timers, promotion } = this.#setup;
    const stopListening = whenAborted(signal, () => {
      // Nobody would know the task; one that is being created continues without its caller.
      if (this.#promotion === undefined) this.attempt.run.life.fence(signal.reason);
    });
    const cancelTimer = promotion && timers.after(promotion.afterMs, () => void this.promoteInTime());
    try {
      return await Promise.race([this.#runHandler(), this.#promoted.promise]);
    } finally {
      cancelTimer?.();
      stopListening();
    }
  }

  /** Creates the task as soon as the store accepts it, unless the handler ends before. Never rejects. */
  async promoteInTime(): Promise<void> {
    const { services, run } = this.attempt;
    const { over } = run.life;
    try {
      await untilStoreAnswers(() => this.#promote(), services, over);
    } catch (error) {
      if (!over.aborted) services.onError(error);
    }
  }

  /** Answers the caller with `reason`, and aborts the handler: the server stops, or the handler outlives its caller. */
  giveUp(reason: HoldfastError): void {
    if (!this.attempt.isHeld) this.attempt.run.life.fence(reason);
    this.#promoted.reject(reason);
  }

  /** Creates the task now, unless there is one, or the handler has ended, or stays without. */
  async #promote(): Promise<void> {
    const { promotion: terms } = this.#setup;
    const { attempt } = this;
    if (attempt.isHeld || terms === undefined) return;
    if (this.#promotion === undefined && attempt.run.life.state !== "direct") return;
    const promotion = (this.#promotion ??= this.#makeTask(terms));
    try {
      await promotion;
    } catch (error) {
      // The run continues as before; a later try may succeed, and one may have begun.
      if (this.#promotion === promotion) this.#promotion = undefined;
      throw error;
    }
  }

  /** If it fails, the caller gets the handler's error, and not the reason. */
  async #promoteForHandler(): Promise<void> {
    try {
      await this.#promote();
    } catch (error) {
      if (isStoreFault(error)) this.attempt.services.onError(error);
      throw error;
    }
  }

  async #makeTask({ makeTask }: Promotion): Promise<void> {
    await makeTask(this.attempt);
    this.#promoted.resolve({ kind: "task" });
  }

  async #runHandler(): Promise<DirectEnd> {
    const { arguments: args, prepared = null, prepareInTask, promotion, signal } = this.#setup;
    const { attempt } = this;
    const { run } = attempt;
    const given = { arguments: args, prepared, prepares: prepareInTask === true };
    const { ended, gone } = startHandler(run, () => runHandler(attempt, given));
    if (promotion !== undefined) void gone.then(promotion.onEnd);
    const end = await ended;
    // Without a task that is being made there is no pause here in which another branch of the handler could begin to make one.
    while (!attempt.isHeld && this.#promotion !== undefined) await this.#promotion.catch(() => undefined);
    if (attempt.isHeld) {
      await endAttempt(attempt, end, gone);
      return { kind: "task" };
    }
    run.setup.trace?.end(directOutcome(end, signal));
    run.end(end.threw);
    // A promotion that waits for the store is over. What still runs hears why, if it was told to end.
    run.life.fence(run.signal.aborted ? run.signal.reason : "The handler has ended.");
    return { kind: "outcome", outcome: end.outcome };
  }
}

/** Answers a call directly, without a record. */
export async function runInline(call: InlineRun, services: Services, timers: Timers): Promise<Outcome> {
  const { clock, telemetry } = services;
  const { tool, caller, received } = call;
  const traced = { tool: tool.name, attempt: 1, trace: call.trace };
  const end = await new DirectRun({
    ...call,
    id: taskId(clock.now(), (size) => clock.randomBytes(size)),
    call: { caller, credentials: () => credentialsOf(call.credentials), received },
    direct: call,
    services,
    timers,
    trace: telemetry && new RunTrace(telemetry.tracing, traced),
  }).start();
  if (end.kind === "outcome") return end.outcome;
  throw new HoldfastError("internal", "A run that stays without a task has one.");
}
