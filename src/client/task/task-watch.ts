import { type BackgroundWork, unlessAborted } from "../background-work.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import { type ClientWaitSpan, failureOf, type WaitOutcome } from "../client-events.ts";
import { noLongerNeeded } from "../clock.ts";
import { TaskPollLimit } from "./poll-limits.ts";
import {
  type PolledTask,
  PollLoop,
  type PollServices,
  type Source,
  TaskState,
  type Verdict,
} from "./poll-loop.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import { isUnknown, type Reply, replyError, type Unanswered, unknownTask } from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { Trouble } from "../reply/retry.ts";
import { TaskQuestions } from "../question/task-questions.ts";

/** What a watch needs of its client. */
interface WatchServices {
  readonly polling: PollServices;
  readonly callbacks: UserCallbacks;
  readonly journal: CallJournal;
  readonly background: BackgroundWork;
  readonly watches: Pick<TaskWatches, "retain" | "forget">;
}

/** Just created, found in the handle store, or named by the caller. */
export type TaskOrigin = "created" | "stored" | "named";

/** What is known about a task before it is watched. */
export interface KnownTask {
  /** The state in the answer to the call, if it was complete. */
  readonly task?: RemoteTask | undefined;
  /** The tool that was called. */
  readonly tool?: string | undefined;
}

/** Whether the server is known to have the task. */
type Existence =
  /** Only the caller has named it. */
  | { readonly kind: "unconfirmed" }
  | { readonly kind: "confirmed" }
  /** The server does not know it; all waits get this error. */
  | { readonly kind: "unknown"; readonly error: TaskClientError };

/**
 * Watches one task for all waits of this client: polls and listens while there is one, and asks the user the task's
 * questions.
 */
export class TaskWatch {
  readonly taskId: string;
  /** What the task runs, as far as this client knows it. */
  readonly #tool: string | undefined;
  readonly #services: WatchServices;
  readonly #questions: TaskQuestions;
  readonly #state = new TaskState();
  readonly #pollLimit: TaskPollLimit;
  #existence: Existence;
  #run: PollRun | undefined;
  /** As last reported. */
  #ttlMs: number | null | undefined;

  constructor(taskId: string, origin: TaskOrigin, services: WatchServices, { task, tool }: KnownTask) {
    this.taskId = taskId;
    this.#tool = tool;
    this.#services = services;
    this.#existence = { kind: origin === "named" ? "unconfirmed" : "confirmed" };
    const { polling, callbacks, journal, background } = services;
    const { protocol, clock, events } = polling;
    this.#pollLimit = new TaskPollLimit(clock);
    const fail = (error: unknown): void => this.#run?.fail(error);
    const answers = journal.answersOf(taskId);
    this.#questions = new TaskQuestions({ taskId, protocol, clock, callbacks, answers, background, fail });
    this.#ttlMs = task?.ttlMs;
    if (origin !== "created") events.emit({ type: "task_resumed", taskId });
    if (task !== undefined) this.#see(task, this.#state.source(), "call");
  }

  get tool(): string | undefined {
    return this.#tool ?? this.#state.task?.tool;
  }

  /**
   * The current state of the task, then each change; ends after a terminal state. A slow reader gets the newest
   * state only. Rejects with the signal's reason, or a TaskClientError. `pollIntervalMs` is the interval that this
   * wait asks for. `onTrouble` is called when polls fail, and with null when they succeed again.
   */
  async *updates(
    signal?: AbortSignal,
    pollIntervalMs?: number,
    onTrouble?: (trouble: Trouble | null) => void,
  ): AsyncGenerator<RemoteTask, void, undefined> {
    signal?.throwIfAborted();
    const removeInterval = this.#pollLimit.addInterval(pollIntervalMs);
    const { taskId, tool } = this;
    const { tracing } = this.#services.callbacks;
    const span = tracing?.wait({ taskId, tool, beside: this.#run?.span });
    const run = this.#join(span);
    const told = onTrouble && run.onTrouble(onTrouble);
    let shown: RemoteTask | undefined;
    let outcome: WaitOutcome = "left";
    try {
      for (;;) {
        if (this.#state.task !== undefined && this.#state.task !== shown) {
          shown = this.#state.task;
          if (hasEnded(shown)) outcome = shown.status;
          yield shown;
        } else if (shown !== undefined && hasEnded(shown)) return;
        else if (this.#existence.kind === "unknown") throw this.#existence.error;
        else if (run.failure !== undefined) throw run.failure.error;
        else await run.nextChange(signal);
      }
    } catch (error) {
      outcome = failureOf(error).code;
      throw error;
    } finally {
      removeInterval();
      told?.();
      run.removeWait(span);
      this.#services.polling.events.emit({ type: "wait_ended", taskId, outcome });
      const isToolError = shown?.status === "completed" && shown.result.isError === true;
      span?.end({ outcome, tool: this.tool, isToolError });
    }
  }

  /** Reads the task's state once. The answer is not stored: it may be older than the last poll's. */
  async ask(signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const reply = await this.#services.polling.protocol.get(this.taskId, signal);
    if (reply.kind === "value") this.#confirm();
    return reply;
  }

  /** The same. Rejects if there is no answer. */
  async get(signal: AbortSignal): Promise<RemoteTask> {
    const reply = await this.ask(signal);
    if (reply.kind === "value") return reply.value;
    throw this.errorOf(reply);
  }

  errorOf(reply: Unanswered): TaskClientError {
    return isUnknown(reply) ? this.#unknownError(reply) : replyError(reply, this.taskId);
  }

  /** Withdraws the task's questions from the user. The client's own signal ends the waits. */
  close(reason: unknown): void {
    this.#questions.end(reason);
  }

  #join(span: ClientWaitSpan | undefined): PollRun {
    const ended = this.#isOver;
    const known = this.#run;
    if (!ended && known?.hasEnded === false) {
      known.addWait(span);
      return known;
    }
    const run = new PollRun(this.#services.background.closing);
    this.#run = run;
    run.addWait(span);
    if (!ended) this.#services.background.run(this.#poll(run));
    return run;
  }

  async #poll(run: PollRun): Promise<void> {
    const { polling, watches } = this.#services;
    const task: PolledTask = {
      taskId: this.taskId,
      limit: this.#pollLimit,
      state: this.#state,
      span: () => run.span,
      isKnown: () => this.#existence.kind !== "unconfirmed",
      onTrouble: (trouble) => run.trouble(trouble),
      onState: (state, source, from) => {
        const verdict = this.#see(state, source, from);
        const isNewest = verdict === "updated" || verdict === "same";
        if (from === "poll" && isNewest) this.#throwRefusal(state);
        return verdict;
      },
      onRetryAfter: (ms) => {
        this.#pollLimit.pauseFor(ms);
        watches.retain(this);
      },
      onUnknown: (reply) => this.#end(this.#unknownError(reply)),
    };
    try {
      await new PollLoop(task, polling).run(run.signal);
    } catch (error) {
      run.fail(error);
    }
    run.wake();
  }

  #throwRefusal(task: RemoteTask): void {
    const refusal = task.status === "input_required" ? this.#questions.refusal(task) : undefined;
    if (refusal !== undefined) throw refusal;
  }

  /** Handles a polled or pushed state. */
  #see(task: RemoteTask, source: Source, from: "call" | "poll" | "push"): Verdict {
    this.#confirm();
    const { polling, watches, journal } = this.#services;
    const { taskId } = this;
    const verdict = this.#state.take(task, source, polling.clock.elapsed());
    if (verdict === "updated") {
      polling.events.emit({ type: "task_seen", taskId, status: task.status, source: from });
      this.#run?.wake();
    }
    if (verdict === "updated" && task.status === "input_required") watches.retain(this);
    if (verdict === "updated" || verdict === "same") this.#ask(task);
    if (this.#state.hasEnded) watches.forget(taskId);
    else if (verdict === "updated" && task.ttlMs !== this.#ttlMs) {
      this.#ttlMs = task.ttlMs;
      journal.recordExpiry(task);
    }
    return verdict;
  }

  /** Asks the questions on behalf of the wait, in its span. */
  #ask(task: RemoteTask): void {
    const span = this.#run?.span;
    if (span === undefined) this.#questions.see(task);
    else span.run(() => this.#questions.see(task));
  }

  #confirm(): void {
    if (this.#existence.kind === "unconfirmed") this.#existence = { kind: "confirmed" };
  }

  get #isOver(): boolean {
    return this.#existence.kind === "unknown" || this.#state.hasEnded;
  }

  #end(error: TaskClientError): void {
    this.#existence = { kind: "unknown", error };
    this.#questions.end(error);
    this.#services.watches.forget(this.taskId);
  }

  #unknownError(reply: Reply<unknown>): TaskClientError {
    const { taskId } = this;
    switch (this.#existence.kind) {
      case "unconfirmed":
        return unknownTask(reply, taskId);
      case "confirmed": {
        const message = "The server no longer knows the task: it expired or was lost";
        const error = reply.kind === "error" ? { error: reply.error } : {};
        return new TaskClientError("expired", message, { ...error, taskId });
      }
      case "unknown":
        return this.#existence.error;
    }
  }
}

/**
 * One period of polling for the waits that are open at the time. It stops with the last of them; a later wait
 * starts another run, so a failure reaches only the waits that were open.
 */
export class PollRun {
  readonly #stop = new AbortController();
  /** Aborts when all waits have ended, the client closes, or polling failed. */
  readonly signal: AbortSignal;
  readonly #wakeups = new Set<() => void>();
  readonly #troubled = new Set<(trouble: Trouble | null) => void>();
  #waits = 0;
  /** Traced waits, in the order in which they began. */
  readonly #spans = new Set<ClientWaitSpan>();
  #failure: { readonly error: unknown } | undefined;

  constructor(closing: AbortSignal) {
    this.signal = AbortSignal.any([this.#stop.signal, closing]);
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Whether a new wait needs another run. */
  get hasEnded(): boolean {
    return this.signal.aborted;
  }

  /** The wait for which polls are made and questions asked: the oldest open one. */
  get span(): ClientWaitSpan | undefined {
    const [oldest] = this.#spans;
    return oldest;
  }

  /** Returns a function that removes the listener. */
  onTrouble(listener: (trouble: Trouble | null) => void): () => void {
    this.#troubled.add(listener);
    return () => this.#troubled.delete(listener);
  }

  trouble(trouble: Trouble | null): void {
    for (const listener of this.#troubled) listener(trouble);
  }

  addWait(span: ClientWaitSpan | undefined): void {
    this.#waits++;
    if (span !== undefined) this.#spans.add(span);
  }

  removeWait(span: ClientWaitSpan | undefined): void {
    if (span !== undefined) this.#spans.delete(span);
    if (--this.#waits === 0) this.#stop.abort(noLongerNeeded);
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort(error);
    this.wake();
  }

  wake(): void {
    for (const wakeUp of this.#wakeups) wakeUp();
  }

  /** Resolves at the next change. Rejects with the signal's reason. */
  async nextChange(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeups.add(resolve);
    try {
      await (signal === undefined ? promise : unlessAborted(promise, signal));
    } finally {
      this.#wakeups.delete(resolve);
    }
  }
}

/**
 * The watches of one client by task id, so that a task with several handles is polled and asked about once. A watch
 * lives as long as a handle or a wait for its task, so a client that only starts calls does not grow.
 */
export class TaskWatches {
  readonly #services: WatchServices;
  readonly #onForget: (taskId: string) => void;
  readonly #byId = new Map<string, WeakRef<TaskWatch>>();
  /** Watches that live without a handle. */
  readonly #retained = new Map<string, TaskWatch>();
  readonly #collected = new FinalizationRegistry<string>((taskId) => {
    // A newer watch may have replaced it.
    if (this.#byId.get(taskId)?.deref() === undefined) this.#byId.delete(taskId);
  });

  constructor(services: Omit<WatchServices, "watches">, onForget: (taskId: string) => void) {
    this.#services = { ...services, watches: this };
    this.#onForget = onForget;
  }

  /** The watch of a task; a new one starts with what is `known` about the task. */
  watch(taskId: string, origin: TaskOrigin, known: KnownTask): TaskWatch {
    const existing = this.#byId.get(taskId)?.deref();
    if (existing !== undefined) return existing;
    const watch = new TaskWatch(taskId, origin, this.#services, known);
    this.#byId.set(taskId, new WeakRef(watch));
    this.#collected.register(watch, taskId);
    return watch;
  }

  /** Keeps the watch until the task has ended: it has questions and answers, or a Retry-After, that must not be lost. */
  retain(watch: TaskWatch): void {
    this.#retained.set(watch.taskId, watch);
  }

  /** The task has ended or is unknown. */
  forget(taskId: string): void {
    this.#byId.delete(taskId);
    this.#retained.delete(taskId);
    this.#onForget(taskId);
  }

  /** Only retained watches can have open questions. */
  close(reason: unknown): void {
    for (const watch of this.#retained.values()) watch.close(reason);
  }
}
