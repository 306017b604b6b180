import type { UserCallbacks } from "../question/ask-user.ts";
import type { ClientClock } from "../clock.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import type { ClientWaitSpan } from "../client-telemetry.ts";
import { failureOf, type ClientEvents, type WaitOutcome } from "../client-events.ts";
import type { ListenStreams } from "./listen-streams.ts";
import { TaskPollLimit, type ClientPollLimit } from "./poll-limits.ts";
import { isUnknown, PollLoop } from "./poll-loop.ts";
import { PollRun } from "./poll-run.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import { type Reply, replyError } from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { TaskState, type Source, type Verdict } from "./task-state.ts";
import { TaskQuestions } from "../question/task-questions.ts";

/** What a watch needs from its client. */
export interface WatchServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  readonly pollLimit: ClientPollLimit;
  readonly listenStreams: ListenStreams;
  readonly journal: CallJournal;
  /** Called with errors that fail no call or wait. */
  readonly onError: (error: unknown) => void;
  /** Reads the text of a resource. Rejects with a `TaskClientError`. */
  readonly readText: (uri: string, signal: AbortSignal) => Promise<string>;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
  /** Tracks background work, so that closing the client waits for it. */
  readonly run: (work: Promise<void>) => void;
  /**
   * Keeps the watch until the task has ended: it has questions and answers, or a Retry-After, that must not be
   * lost.
   */
  readonly retainWatch: (watch: TaskWatch) => void;
  /** Called when the task has ended or is unknown. */
  readonly forget: (taskId: string) => void;
}

/** Just created, found in the handle store, or named by the caller. */
export type TaskOrigin = "created" | "kept" | "named";

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
  /** Whether the task is known to have existed. */
  #known: boolean;
  /** The error of all waits after the server said that it does not know the task. */
  #notFound: TaskClientError | undefined;
  #run: PollRun | undefined;
  /** As last reported. */
  #ttlMs: number | null | undefined;

  /** `task` is the state in the answer to the call, if it was complete; `tool` what was called, if that is known. */
  constructor(
    taskId: string,
    origin: TaskOrigin,
    task: RemoteTask | undefined,
    services: WatchServices,
    tool: string | undefined,
  ) {
    this.taskId = taskId;
    this.#tool = tool;
    this.#services = services;
    this.#known = origin !== "named";
    const { protocol, clock, callbacks, journal, run, events } = services;
    this.#pollLimit = new TaskPollLimit(clock);
    const fail = (error: unknown): void => this.#fail(error);
    const answers = journal.answersOf(taskId);
    this.#questions = new TaskQuestions({ taskId, protocol, clock, callbacks, answers, run, fail });
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
   * wait asks for.
   */
  async *updates(signal?: AbortSignal, pollIntervalMs?: number): AsyncGenerator<RemoteTask, void, undefined> {
    signal?.throwIfAborted();
    const removeInterval = this.#pollLimit.addInterval(pollIntervalMs);
    const { taskId, tool } = this;
    const { tracing } = this.#services.callbacks;
    const span = tracing?.wait({ taskId, tool, beside: this.#run?.span });
    const run = this.#join(span);
    let shown: RemoteTask | undefined;
    let outcome: WaitOutcome = "left";
    try {
      for (;;) {
        if (this.#state.task !== undefined && this.#state.task !== shown) {
          shown = this.#state.task;
          if (hasEnded(shown)) outcome = shown.status;
          yield shown;
        } else if (shown !== undefined && hasEnded(shown)) return;
        else if (this.#notFound !== undefined) throw this.#notFound;
        else if (run.failure !== undefined) throw run.failure.error;
        else await run.nextChange(signal);
      }
    } catch (error) {
      outcome = failureOf(error).code;
      throw error;
    } finally {
      removeInterval();
      run.removeWait(span);
      this.#services.events.emit({ type: "wait_ended", taskId, outcome });
      const isToolError = shown?.status === "completed" && shown.result.isError === true;
      span?.end({ outcome, tool: this.tool, isToolError });
    }
  }

  /** Reads the task's state once. */
  async get(signal: AbortSignal): Promise<RemoteTask> {
    const reply = await this.#services.protocol.get(this.taskId, signal);
    if (reply.kind === "value") {
      // Not stored: this answer may be older than the last poll's.
      this.#known = true;
      return reply.value;
    }
    throw isUnknown(reply) ? this.#unknownError(reply) : replyError(reply, this.taskId);
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
    const run = new PollRun(this.#services.closing);
    this.#run = run;
    run.addWait(span);
    if (!ended) this.#services.run(this.#poll(run));
    return run;
  }

  async #poll(run: PollRun): Promise<void> {
    const { protocol, listenStreams } = this.#services;
    const loop = new PollLoop({
      ...this.#services,
      taskId: this.taskId,
      taskLimit: this.#pollLimit,
      clientLimit: this.#services.pollLimit,
      state: this.#state,
      span: () => run.span,
      onPolled: (task, source) => this.#polled(task, source),
      pauseFor: (ms) => {
        this.#pollLimit.pauseFor(ms);
        this.#services.retainWatch(this);
      },
      onUnknown: (reply) => this.#end(this.#unknownError(reply)),
    });
    let stream = this.#state.source();
    const unsubscribe = listenStreams.add(this.taskId, {
      onRequested: () => (stream = this.#state.source()),
      onSubscribed: (listened) => (loop.hasPushes = listened),
      onTask: (task) => {
        if (run.hasEnded) return; // without a wait no questions are asked
        if (this.#see(task, stream, "push") === "unclear") loop.pollNow();
        else loop.reschedule();
      },
    });
    const reported = this.#state.source();
    const observer = {
      onTask: (task: RemoteTask): void => {
        if (run.hasEnded) return;
        if (this.#see(task, reported, "push") === "unclear") loop.pollNow();
        else loop.reschedule();
      },
      onPollNeeded: () => loop.pollNow(),
    };
    const stopObserving = protocol.observe?.(this.taskId, observer, this.#state.task);
    try {
      await loop.run(run.signal);
    } catch (error) {
      run.fail(error);
    } finally {
      stopObserving?.();
      unsubscribe(this.#isOver);
    }
    run.wake();
  }

  #polled(task: RemoteTask, source: Source): void {
    const verdict = this.#see(task, source, "poll");
    if (verdict !== "updated" && verdict !== "same") return;
    const refusal = task.status === "input_required" ? this.#questions.refusal(task) : undefined;
    if (refusal !== undefined) throw refusal;
  }

  /** Handles a polled or pushed state. */
  #see(task: RemoteTask, source: Source, from: "call" | "poll" | "push"): Verdict {
    this.#known = true;
    const { events, clock, retainWatch, forget, journal } = this.#services;
    const { taskId } = this;
    const verdict = this.#state.take(task, source, clock.elapsed());
    if (verdict === "updated") {
      events.emit({ type: "task_seen", taskId, status: task.status, source: from });
      this.#run?.wake();
    }
    if (verdict === "updated" && task.status === "input_required") retainWatch(this);
    if (verdict === "updated" || verdict === "same") this.#ask(task);
    if (this.#state.hasEnded) forget(taskId);
    else if (verdict === "updated" && task.ttlMs !== this.#ttlMs) {
      this.#ttlMs = task.ttlMs;
      journal.recordExpiry(task);
    }
    return verdict;
  }

  /** What the user is asked, and the answer, are for the wait. */
  #ask(task: RemoteTask): void {
    const span = this.#run?.span;
    if (span === undefined) this.#questions.see(task);
    else span.run(() => this.#questions.see(task));
  }

  get #isOver(): boolean {
    return this.#notFound !== undefined || this.#state.hasEnded;
  }

  #end(error: TaskClientError): void {
    this.#notFound = error;
    this.#questions.end(error);
    this.#services.forget(this.taskId);
  }

  #fail(error: unknown): void {
    this.#run?.fail(error);
  }

  #unknownError(reply: Reply<unknown>): TaskClientError {
    const error = reply.kind === "error" ? { error: reply.error } : {};
    const options = { ...error, taskId: this.taskId };
    return this.#known
      ? new TaskClientError(
          "expired",
          "The server no longer knows the task: it expired, or was lost",
          options,
        )
      : new TaskClientError("unknown_task", "The server does not know the task", options);
  }
}
