import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Read } from "../../options/options.ts";
import { furthest } from "../../task/decide.ts";
import { HoldfastError, isStoreFault } from "../../task/fault.ts";
import type { InputMethod, JournalKey, WaitReason } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import { taskId } from "../../task/record-changes.ts";
import type { Progress } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import type { TimeSpan } from "../../task/time.ts";
import { endOf } from "../clock.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import type { AddressedWait } from "../event-urls.ts";
import type { NextRoundOfLoop } from "../journal/held-task.ts";
import { withoutTask } from "../journal/run-life.ts";
import { Run } from "../journal/run.ts";
import { TaskLines } from "../journal/task-lines.ts";
import type { RunLimits } from "../limits/limits.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import { hasMark, operatorsOnly } from "../questions/questions.ts";
import type { Services } from "../services.ts";
import { directOutcome, RunTrace } from "../telemetry/telemetry.ts";
import type { Timers } from "../timers.ts";
import { credentialsOf, keepDetails } from "../tool/received-request.ts";
import type { QuestionOptions, TaskContext } from "../tool/task-context.ts";
import { runToEnd } from "../tool/tool-outcome.ts";
import type { Tool } from "../tool/tool.ts";
import { waitFor, whenAborted } from "../wait-for.ts";
import type { HandlerChanges } from "./handler-updates.ts";
import type { HeldRun } from "./held-run.ts";
import { type CallContext, type ContextEffects, makeContext } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";
import { startHandler } from "./run-handler.ts";
import type { PausedStep } from "./step-try.ts";
import type { Ask, CallListener, InlineRun } from "../runtime.ts";

/** How a run without a record becomes one with a task. */
export interface Promotion {
  readonly afterMs: number;
  /** It already has a slot from these. */
  readonly slots: PrincipalSlots;
  /** Creates the record, already running, and lets the run hold it. Rejects with the store's error. */
  readonly makeTask: (run: Run) => Promise<HeldRun>;
  /** Called when the handler has ended. */
  readonly onEnd: () => void;
}

export interface DirectRunSetup {
  readonly tool: Tool;
  /** The id of a task that is made for it. */
  readonly id: string;
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared: string | null;
  /** True if the tool's `prepare` did not run before: it runs now, and asks like the handler. */
  readonly prepareInTask?: true | undefined;
  readonly call: CallContext;
  /** Receives the handler's reports while there is no task. */
  readonly listener: CallListener;
  /** Aborts the handler while there is no task. */
  readonly signal: AbortSignal;
  readonly services: Services;
  readonly timers: Timers;
  /** Left out if nothing is traced. */
  readonly trace: RunTrace | undefined;
  /** How questions reach the caller of a run that stays without a task. */
  readonly ask?: Ask;
  /** Left out for a run that stays without a task. */
  readonly promotion?: Promotion;
}

/** How a run ended for its caller. */
export type DirectEnd = { readonly kind: "task" } | { readonly kind: "outcome"; readonly outcome: Outcome };

/**
 * A handler that runs without a record. What always holds:
 *
 * 1. Without a `promotion` nothing is ever stored: steps follow the same rules, but what needs a task is refused.
 * 2. With one, the record is created, running, before anything is journalled, or once the time is over; from there on everything is
 *    durable as in any other run, and the caller gets the task.
 * 3. A task that is being made when the handler ends, or its caller leaves, is made: its id may be on its way.
 */
export class DirectRun implements ContextEffects {
  readonly run: Run;
  readonly services: Services;
  readonly limits: RunLimits;
  readonly #setup: DirectRunSetup;
  readonly #promoted = Promise.withResolvers<DirectEnd>();
  #promotion: Promise<HeldRun> | undefined;
  #held: HeldRun | undefined;
  #early: HandlerChanges = {};
  #earlyProgress: Progress | undefined;

  constructor(setup: DirectRunSetup) {
    const { id, tool, services, timers, trace, call, promotion } = setup;
    this.#setup = setup;
    this.services = services;
    const areKept = promotion === undefined || services.store.logs !== undefined;
    this.run = new Run({
      ...withoutTask(id, tool, services, timers),
      lines: new TaskLines({ limits: services.options, areKept }),
      trace,
      ...(promotion && { slots: promotion.slots, promote: () => this.#promoteForHandler() }),
    });
    this.limits = services.limits.of(this.run, call.caller.principal);
  }

  /** Resolves with the direct answer, or as soon as there is a task. */
  async start(): Promise<DirectEnd> {
    const { signal, timers, promotion } = this.#setup;
    const stopListening = whenAborted(signal, () => {
      // Nobody would know the task; one that is being created continues without its caller.
      if (this.#promotion === undefined) this.run.life.fence(signal.reason);
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
    const { over } = this.run.life;
    try {
      await untilStoreAnswers(() => this.promote(), this.services, over);
    } catch (error) {
      if (!over.aborted) this.services.onError(error);
    }
  }

  /** Answers the caller with `reason`, and aborts the handler: the server stops, or the handler outlives its caller. */
  giveUp(reason: HoldfastError): void {
    if (this.#held === undefined) this.run.life.fence(reason);
    this.#promoted.reject(reason);
  }

  /** Creates the task now, unless there is one, or the handler has ended, or stays without. */
  async promote(): Promise<HeldRun | undefined> {
    if (this.#held !== undefined) return this.#held;
    const { promotion: terms } = this.#setup;
    // The run already holds a task that was made just now, before whoever made it hears of that.
    if (terms === undefined || (this.#promotion === undefined && this.run.life.state !== "direct"))
      return undefined;
    const promotion = (this.#promotion ??= this.#makeTask(terms));
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
      if (isStoreFault(error)) this.services.onError(error);
      throw error;
    }
  }

  async #makeTask({ makeTask }: Promotion): Promise<HeldRun> {
    const held = await makeTask(this.run);
    this.#held = held;
    this.#promoted.resolve({ kind: "task" });
    // Not awaited: the task exists even if its first status is never written.
    if (Object.keys(this.#early).length > 0) held.update(this.#early).catch(() => undefined);
    if (this.#earlyProgress !== undefined) held.progress(this.#earlyProgress);
    return held;
  }

  async #runHandler(): Promise<DirectEnd> {
    const { tool, call, services, promotion, signal } = this.#setup;
    const { run } = this;
    const contextFor = async (args: unknown): Promise<TaskContext> => {
      const prepared =
        this.#setup.prepareInTask === true
          ? await prepareInTask(tool, args, this, call.caller)
          : this.#setup.prepared;
      return keepDetails(makeContext(this, call, prepared), { received: call.received });
    };
    const begin = () => runToEnd(tool, this.#setup.arguments, contextFor, services.options.maxBodyBytes);
    const { ended, gone } = startHandler(run, begin);
    if (promotion !== undefined) void gone.then(promotion.onEnd);
    const end = await ended;
    // Without a task that is being made there is no pause here in which another branch of the handler could begin to make one.
    let held: HeldRun | undefined;
    while (held === undefined && this.#promotion !== undefined) {
      held = await this.#promotion.catch(() => undefined);
    }
    if (held === undefined) {
      run.setup.trace?.end(directOutcome(end, signal));
      run.end(end.threw);
      // A promotion that waits for the store is over. What still runs hears why, if it was told to end.
      run.life.fence(run.signal.aborted ? run.signal.reason : "The handler has ended.");
      return { kind: "outcome", outcome: end.outcome };
    }
    await held.end(end, gone);
    return { kind: "task" };
  }

  /** Undefined for a run that stays without a task. */
  async #durable(): Promise<HeldRun | undefined> {
    if (this.#setup.promotion === undefined) return undefined;
    await this.run.checkpoint();
    const held = await this.#promoteForHandler();
    if (held === undefined) throw new Error("The handler has ended.");
    return held;
  }

  /** A step begins with its task. A checkpoint here would release that before the failure of a try is journalled. */
  async #ofStep(): Promise<HeldRun | undefined> {
    return this.#held ?? this.#durable();
  }

  #refused(why: string): HoldfastError {
    return new HoldfastError(
      "invalid_request",
      `Tool "${this.#setup.tool.name}" never runs as a task, so ${why}`,
    );
  }

  async ask(
    key: JournalKey,
    method: InputMethod,
    params: object,
    options: Read<QuestionOptions>,
  ): Promise<unknown> {
    const { ask, tool } = this.#setup;
    if (ask === undefined) return (await this.#durable())?.ask(key, method, params, options);
    const { run } = this;
    run.claim(key);
    if (hasMark(params, operatorsOnly)) {
      const problem = "so operators cannot see its questions: only those of tasks are stored.";
      throw new HoldfastError("invalid_request", `This call of "${tool.name}" has no task, ${problem}`);
    }
    await run.checkpoint(); // nobody is there to be asked after the answer
    return run.whileWaiting("question", () => ask(key, method, params, options));
  }

  async call(key: JournalKey, name: string, args: unknown): Promise<CallToolResult> {
    const held = await this.#durable();
    if (held !== undefined) return held.call(key, name, args);
    this.run.claim(key);
    throw this.#refused('it cannot call other tools. Remove task: "forbidden" from it.');
  }

  async waitForEvent(...[key, ...wait]: Parameters<ContextEffects["waitForEvent"]>): Promise<unknown> {
    const held = await this.#durable();
    if (held !== undefined) return held.waitForEvent(key, ...wait);
    this.run.claim(key);
    throw this.#refused('no event can be sent to it. Remove task: "forbidden" from it.');
  }

  eventUrl(wait: AddressedWait): string {
    if (this.#setup.promotion === undefined) throw this.#refused("it has no addresses for events.");
    return this.services.eventUrls.urlOf(wait); // the run's id becomes the task's
  }

  async sleep(key: JournalKey, time: TimeSpan | Date): Promise<void> {
    const held = await this.#durable();
    if (held !== undefined) return held.sleep(key, time);
    const { run } = this;
    const { clock } = this.services;
    const until = endOf(time, clock.now());
    run.claim(key);
    await run.whileWaiting("sleep", () => this.#setup.timers.pause(until - clock.now(), run.signal), until);
  }

  async nextRound(next: NextRoundOfLoop): Promise<void> {
    const held = await this.#durable();
    return held === undefined ? this.run.nextRound(next, async () => undefined) : held.nextRound(next);
  }

  update(changes: HandlerChanges): Promise<void> {
    if (this.#held !== undefined) return this.#held.update(changes);
    this.#early = { ...this.#early, ...changes };
    return Promise.resolve();
  }

  append(...line: Parameters<TaskLines["append"]>): Promise<void> {
    if (this.#held !== undefined) return this.#held.append(...line);
    const { lines } = this.run.setup;
    const last = lines.lastOf("log");
    const appended = lines.append(...line);
    if (lines.lastOf("log") > last) this.#tell(({ log }) => log?.(JSON.parse(line[3]) as LogText));
    return appended;
  }

  progress(progress: Progress): void {
    if (this.#held !== undefined) return this.#held.progress(progress);
    this.#earlyProgress = furthest(this.#earlyProgress ?? null, progress);
    this.#tell(({ progress: told }) => told?.(progress));
  }

  /** A handler must not fail because its report cannot be delivered. */
  #tell(report: (listener: CallListener) => void): void {
    try {
      report(this.#setup.listener);
    } catch {
      // As documented.
    }
  }

  async reaches(until: number): Promise<boolean> {
    return (await this.#ofStep())?.reaches(until) ?? true;
  }

  async assertReaches(until: number, what: string): Promise<void> {
    await (await this.#ofStep())?.assertReaches(until, what);
  }

  async pause(key: string, until: number, reason: WaitReason, paused?: PausedStep): Promise<void> {
    const held = await this.#ofStep();
    if (held !== undefined) return held.pause(key, until, reason, paused);
    const { run } = this;
    const { timers } = this.#setup;
    await run.whileWaiting(reason, () => waitFor((done) => timers.at(until, done), run.signal), until);
  }
}

/** Answers a call directly, without a record. */
export async function runInline(call: InlineRun, services: Services, timers: Timers): Promise<Outcome> {
  const { clock, telemetry } = services;
  const { tool, caller, received, prepared = null, prepareInTask: preparesNow, signal, ask } = call;
  const traced = { tool: tool.name, attempt: 1, trace: call.trace };
  const end = await new DirectRun({
    tool,
    id: taskId(clock.now(), (size) => clock.randomBytes(size)),
    arguments: call.arguments,
    prepared,
    prepareInTask: preparesNow,
    call: { caller, credentials: () => credentialsOf(call.credentials), received },
    listener: call,
    signal,
    services,
    timers,
    trace: telemetry && new RunTrace(telemetry.tracing, traced),
    ask,
  }).start();
  if (end.kind === "outcome") return end.outcome;
  throw new HoldfastError("internal", "A run that stays without a task has one.");
}
