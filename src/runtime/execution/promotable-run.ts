import { isStoreFault, type HoldfastError } from "../../task/fault.ts";
import type { Outcome } from "../../task/outcome.ts";
import { furthest } from "../../task/decide.ts";
import type { Progress } from "../../task/record.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import { Run } from "../journal/run.ts";
import { withoutTask } from "../journal/run-life.ts";
import { TaskLines } from "../journal/task-lines.ts";
import type { HeldRun } from "./held-run.ts";
import { appendAndReport, report, type CallListener } from "./run-inline.ts";
import type { HandlerChanges } from "./handler-updates.ts";
import { makeContext, type CallContext, type ContextEffects } from "./make-context.ts";
import { keepDetails } from "../tool/received-request.ts";
import { directOutcome, type RunTrace } from "../telemetry/telemetry.ts";
import { runToEnd, type HandlerEnd } from "../tool/tool-outcome.ts";
import type { Services } from "../services.ts";
import type { Timers } from "../timers.ts";
import type { TaskContext } from "../tool/task-context.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import { whenAborted } from "../wait-for.ts";
import { withinTime, workLimitOf } from "./within-time.ts";

export interface PromotableSetup {
  readonly tool: Tool;
  /** The id that the task will have. */
  readonly id: string;
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared: string | null;
  readonly call: CallContext;
  /** Receives the handler's reports while there is no task. */
  readonly listener: CallListener;
  /** Aborts the handler while there is no task. */
  readonly signal: AbortSignal;
  readonly promoteAfterMs: number;
  readonly services: Services;
  readonly timers: Timers;
  /** It already has a slot from these. */
  readonly slots: PrincipalSlots;
  /** Creates the record, already running, and lets the run hold it. Rejects with the store's error. */
  readonly makeTask: (run: Run) => Promise<HeldRun>;
  /** Left out if nothing is traced. */
  readonly trace: RunTrace | undefined;
  /** Called when the handler has ended. */
  readonly onEnd: () => void;
}

/** How a run ended for its caller. */
export type PromotableEnd =
  { readonly kind: "task" } | { readonly kind: "outcome"; readonly outcome: Outcome };

/**
 * A handler that runs without a record until it needs one. Then the record is created, running, and everything from there on is durable as
 * in any other run.
 */
export class PromotableRun {
  readonly run: Run;
  readonly #setup: PromotableSetup;
  readonly #promoted = Promise.withResolvers<PromotableEnd>();
  #promotion: Promise<HeldRun> | undefined;
  #held: HeldRun | undefined;
  #early: HandlerChanges = {};
  #earlyProgress: Progress | undefined;

  constructor(setup: PromotableSetup) {
    const { id, tool, services, slots, timers, trace } = setup;
    this.#setup = setup;
    this.run = new Run({
      ...withoutTask(id, tool, services),
      lines: new TaskLines({ limits: services.options, areKept: services.store.logs !== undefined }),
      slots,
      limit: workLimitOf(tool, timers),
      trace,
      promote: () => this.#promoteForHandler(),
    });
  }

  /** Resolves with the direct answer, or as soon as there is a task. */
  async start(): Promise<PromotableEnd> {
    const { signal, timers, promoteAfterMs } = this.#setup;
    const stopListening = whenAborted(signal, () => {
      // Nobody would know the task; one that is being created continues without its caller.
      if (this.#promotion === undefined) this.run.life.fence(signal.reason);
    });
    const cancelTimer = timers.after(promoteAfterMs, () => void this.promoteInTime());
    try {
      return await Promise.race([this.#runHandler(), this.#promoted.promise]);
    } finally {
      cancelTimer();
      stopListening();
    }
  }

  /** Creates the task as soon as the store accepts it, unless the handler ends before. Never rejects. */
  async promoteInTime(): Promise<void> {
    const { over } = this.run.life;
    try {
      await untilStoreAnswers(() => this.promote(), this.#setup.services, over);
    } catch (error) {
      if (!over.aborted) this.#setup.services.onError(error);
    }
  }

  /** Answers the caller with `reason`, and aborts the handler: the server stops, or the handler outlives its caller. */
  giveUp(reason: HoldfastError): void {
    if (this.#held === undefined) this.run.life.fence(reason);
    this.#promoted.reject(reason);
  }

  /** Creates the task now, unless there is one, or the handler has ended. */
  async promote(): Promise<HeldRun | undefined> {
    if (this.#held !== undefined) return this.#held;
    // The run already holds a task that was made just now, before whoever made it hears of that.
    if (this.#promotion === undefined && this.run.life.state !== "direct") return undefined;
    const promotion = (this.#promotion ??= this.#makeTask());
    try {
      return await promotion;
    } catch (error) {
      // The run continues as before; a later try may succeed, and one may have begun.
      if (this.#promotion === promotion) this.#promotion = undefined;
      throw error;
    }
  }

  /** If it fails, the caller gets the handler's error, and not the reason. */
  async #promoteForHandler(): Promise<HeldRun | undefined> {
    try {
      return await this.promote();
    } catch (error) {
      if (isStoreFault(error)) this.#setup.services.onError(error);
      throw error;
    }
  }

  async #makeTask(): Promise<HeldRun> {
    const held = await this.#setup.makeTask(this.run);
    this.#held = held;
    this.#promoted.resolve({ kind: "task" });
    // Not awaited: the task exists even if its first status is never written.
    if (Object.keys(this.#early).length > 0) held.effects.update(this.#early).catch(() => undefined);
    if (this.#earlyProgress !== undefined) held.effects.progress(this.#earlyProgress);
    return held;
  }

  async #runHandler(): Promise<PromotableEnd> {
    const { tool, call, prepared, services } = this.#setup;
    const { received } = call;
    const context = (): TaskContext =>
      keepDetails(makeContext(this.run, this.#effects(), services.clock, call, prepared), { received });
    const begin = (): Promise<HandlerEnd> =>
      runToEnd(tool, this.#setup.arguments, context, this.run.setup.maxBodyBytes);
    const running = this.run.start(begin);
    const gone = running.then(() => this.run.stepsEnd());
    void gone.then(() => this.#setup.onEnd());
    const end = await withinTime(running, this.run, tool);
    // A task that is being made is made: its id may be on its way. Without one there is no pause here in which another
    // branch of the handler could begin to make one.
    let held: HeldRun | undefined;
    while (held === undefined && this.#promotion !== undefined) {
      held = await this.#promotion.catch(() => undefined);
    }
    if (held === undefined) {
      this.run.setup.trace?.end(directOutcome(end, this.#setup.signal));
      this.run.end(end.threw);
      this.run.life.fence("The handler has ended."); // a promotion that waits for the store is over
      return { kind: "outcome", outcome: end.outcome };
    }
    await held.end(end, gone);
    return { kind: "task" };
  }

  #effects(): ContextEffects {
    const durable = async (): Promise<ContextEffects> => {
      await this.run.checkpoint();
      const held = await this.#promoteForHandler();
      if (held === undefined) throw new Error("The handler has ended.");
      return held.effects;
    };
    return {
      ask: async (key, method, params, options) => (await durable()).ask(key, method, params, options),
      call: async (key, name, args) => (await durable()).call(key, name, args),
      waitForEvent: async (key, name, options) => (await durable()).waitForEvent(key, name, options),
      eventUrl: (wait) => this.#setup.services.eventUrls.urlOf(wait), // the run's id becomes the task's
      sleep: async (key, time) => (await durable()).sleep(key, time),
      nextRound: async (next) => (await durable()).nextRound(next),
      update: (changes) => {
        if (this.#held !== undefined) return this.#held.effects.update(changes);
        this.#early = { ...this.#early, ...changes };
        return Promise.resolve();
      },
      append: (...line) =>
        this.#held?.effects.append(...line) ??
        appendAndReport(this.#setup.listener, this.run.setup.lines, ...line),
      progress: (progress) => {
        if (this.#held !== undefined) return this.#held.effects.progress(progress);
        this.#earlyProgress = furthest(this.#earlyProgress ?? null, progress);
        report(this.#setup.listener, progress);
      },
      report: this.#setup.services.onError,
      onStepRun: this.#setup.services.onStepRun,
      processes: this.#setup.services.processes,
      threads: this.#setup.services.threads,
      running: this.#setup.services.counts?.steps,
      // A step begins with its task.
      limits: { take: async (...step) => (this.#held?.effects ?? (await durable())).limits.take(...step) },
      pauses: {
        // A step begins with its task. A checkpoint here would release that before the failure of a try is journalled.
        reaches: async (until) => (this.#held?.effects ?? (await durable())).pauses.reaches(until),
        assertReaches: async (...end) =>
          (this.#held?.effects ?? (await durable())).pauses.assertReaches(...end),
        pause: async (...pause) => (this.#held?.effects ?? (await durable())).pauses.pause(...pause),
      },
    };
  }
}
