import type { HoldfastError } from "../../task/fault.ts";
import type { Outcome } from "../../task/outcome.ts";
import { furthest } from "../../task/progress.ts";
import type { Progress } from "../../task/record.ts";
import type { AttemptJournal } from "./attempt-journal.ts";
import type { TakenAttempt } from "./attempts.ts";
import { ClaimedKeys } from "./claimed-keys.ts";
import type { Clock } from "../clock.ts";
import type { HandlerChanges } from "./handler-changes.ts";
import { makeContext, type CallContext, type ContextEffects } from "./make-context.ts";
import { runToEnd } from "../tool/run-to-end.ts";
import type { Timers } from "../timers.ts";
import type { TaskContext } from "../tool/task-context.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

export interface PromotableSetup {
  readonly tool: Tool;
  /** The id that the task will have. */
  readonly id: string;
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared: string | null;
  readonly call: CallContext;
  /** Aborts the handler while there is no task. */
  readonly signal: AbortSignal;
  readonly promoteAfterMs: number;
  readonly maxBodyBytes: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Makes the record, already running, and takes its attempt; rejects with what the store rejects with. */
  readonly makeTask: (keys: ClaimedKeys) => Promise<TakenAttempt>;
  readonly onError: (error: unknown) => void;
  /** Called when the handler has ended. */
  readonly onEnd: () => void;
}

/** How a run ended for its caller. */
export type PromotableEnd =
  { readonly kind: "task" } | { readonly kind: "outcome"; readonly outcome: Outcome };

/**
 * A handler that runs without a record until it has to have one: then the record is made, running, and what the
 * handler does from there on is durable as in any other attempt.
 */
export class PromotableRun implements AttemptJournal {
  readonly taskId: string;
  readonly wireId: string;
  readonly attempt = 1;
  readonly maxBodyBytes: number;
  readonly #setup: PromotableSetup;
  readonly #keys = new ClaimedKeys();
  readonly #abort = new AbortController();
  readonly #promoted = Promise.withResolvers<PromotableEnd>();
  #promotion: Promise<TakenAttempt> | undefined;
  #early: HandlerChanges = {};
  #earlyProgress: Progress | undefined;
  #task: TakenAttempt | undefined;
  /** Aborts when no task is made any more: the handler has ended or was given up, or its caller has left. */
  readonly #over = new AbortController();

  constructor(setup: PromotableSetup) {
    this.#setup = setup;
    this.taskId = setup.id;
    this.wireId = setup.id;
    this.maxBodyBytes = setup.maxBodyBytes;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves with the direct answer, or as soon as there is a task. */
  async run(): Promise<PromotableEnd> {
    const { tool, call, prepared, signal, clock, timers, promoteAfterMs } = this.#setup;
    const onAbort = (): void => {
      if (this.#promotion !== undefined) return;
      this.#over.abort(); // nobody would know the task
      this.#abort.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const callOff = timers.at(clock.now() + promoteAfterMs, () => void this.promoteInTime());
    const ended = this.#runHandler(tool, () => makeContext(this, this.#effects(), clock, call, prepared));
    try {
      return await Promise.race([ended, this.#promoted.promise]);
    } finally {
      callOff();
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Makes the task as soon as the store takes it, unless the handler ends before. Never rejects. */
  async promoteInTime(): Promise<void> {
    const { signal } = this.#over;
    try {
      await untilStoreAnswers(() => this.promote(), this.#setup, signal);
    } catch (error) {
      if (!signal.aborted) this.#setup.onError(error);
    }
  }

  /** Answers the caller with `reason`, and aborts the handler: the server ends, or the handler outlives its caller. */
  giveUp(reason: HoldfastError): void {
    this.#over.abort(reason);
    this.#abort.abort(reason);
    this.#promoted.reject(reason);
  }

  /** Makes the task now, unless there is one, or the handler has ended. */
  async promote(): Promise<TakenAttempt | undefined> {
    if (this.#over.signal.aborted) return undefined;
    const promotion = (this.#promotion ??= this.#makeTask());
    try {
      return await promotion;
    } catch (error) {
      // The run goes on as it was; a later try may succeed, and one may have begun.
      if (this.#promotion === promotion) this.#promotion = undefined;
      throw error;
    }
  }

  claim(key: Parameters<AttemptJournal["claim"]>[0]): string {
    return this.#keys.claim(key);
  }

  find(): undefined {
    return undefined;
  }

  async replayed(): Promise<void> {
    // A first attempt replays nothing.
  }

  async checkpoint(): Promise<void> {
    if (this.#task !== undefined) await this.#task.attempt.checkpoint();
    this.signal.throwIfAborted();
  }

  async begin(): Promise<void> {
    await this.checkpoint();
    const task = await this.promote();
    await task?.attempt.begin();
  }

  working<T>(work: () => Promise<T>): Promise<T> {
    return this.#task === undefined ? work() : this.#task.attempt.working(work);
  }

  async recordPrepared(key: string, value: string | null): Promise<void> {
    await this.#task?.attempt.recordPrepared(key, value);
  }

  async recordStep(key: string, value: string | null, error: string | null): Promise<void> {
    await this.#task?.attempt.recordStep(key, value, error);
  }

  async #makeTask(): Promise<TakenAttempt> {
    const task = await this.#setup.makeTask(this.#keys);
    this.#task = task;
    const { signal } = task.attempt;
    if (signal.aborted) this.#abort.abort(signal.reason);
    signal.addEventListener("abort", () => this.#abort.abort(signal.reason), { once: true });
    this.#promoted.resolve({ kind: "task" });
    // Not waited for: the task is there, whatever becomes of its first status.
    if (Object.keys(this.#early).length > 0) task.effects.update(this.#early).catch(() => undefined);
    if (this.#earlyProgress !== undefined) task.effects.progress(this.#earlyProgress);
    return task;
  }

  async #runHandler(tool: Tool, contextFor: () => TaskContext): Promise<PromotableEnd> {
    const end = await runToEnd(tool, this.#setup.arguments, contextFor, this.maxBodyBytes);
    this.#setup.onEnd();
    // A task that is being made is made: its id may be on its way. Without one there is no pause here in which another
    // branch of the handler could begin to make one.
    let task: TakenAttempt | undefined;
    while (task === undefined && this.#promotion !== undefined) {
      task = await this.#promotion.catch(() => undefined);
    }
    this.#over.abort();
    if (task === undefined) return { kind: "outcome", outcome: end.outcome };
    await task.end(end);
    return { kind: "task" };
  }

  #effects(): ContextEffects {
    const durable = async (): Promise<ContextEffects> => {
      await this.checkpoint();
      const task = await this.promote();
      if (task === undefined) throw new Error("The handler has ended.");
      return task.effects;
    };
    return {
      ask: async (key, method, params, options) => (await durable()).ask(key, method, params, options),
      sleep: async (key, ms) => (await durable()).sleep(key, ms),
      update: (changes) => {
        if (this.#task !== undefined) return this.#task.effects.update(changes);
        this.#early = { ...this.#early, ...changes };
        return Promise.resolve();
      },
      progress: (progress) => {
        if (this.#task === undefined) this.#earlyProgress = furthest(this.#earlyProgress ?? null, progress);
        else this.#task.effects.progress(progress);
      },
    };
  }
}
