import type { UserCallbacks } from "../question/ask-user.ts";
import type { ClientClock } from "../clock.ts";
import type { CallKeeper } from "../handles/call-keeper.ts";
import { failureOf, type ClientEvents } from "../events/client-events.ts";
import type { WaitOutcome } from "../events/client-event.ts";
import type { Listening } from "./listening.ts";
import { Pace } from "./pace.ts";
import { isUnknown, PollLoop } from "./poll-loop.ts";
import { PollRun } from "./poll-run.ts";
import type { PollTraffic } from "./poll-traffic.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import type { Reply } from "../reply/reply.ts";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { TaskState, type Source, type Verdict } from "./task-state.ts";
import { TaskQuestions } from "../question/task-questions.ts";

/** What a watch needs of its client. */
export interface WatchServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  readonly traffic: PollTraffic;
  readonly listening: Listening;
  readonly keeper: CallKeeper;
  /** Hears of faults that stop nobody. */
  readonly onError: (error: unknown) => void;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
  /** Takes what runs on by itself, so that closing the client can wait for it. */
  readonly run: (work: Promise<void>) => void;
  /** Called once the watch alone knows who was asked something and what they said, or how long to leave the server alone. */
  readonly keepWatch: (watch: TaskWatch) => void;
  /** Called once the task can tell nothing new. */
  readonly forget: (taskId: string) => void;
}

/** Made here just now, by a client before this one that kept it, or known by a caller's word only. */
export type TaskOrigin = "created" | "kept" | "named";

/**
 * Watches one task for everybody in this client who waits for it: polls and listens while somebody does, and puts the
 * task's questions to the user.
 */
export class TaskWatch {
  readonly taskId: string;
  readonly #services: WatchServices;
  readonly #questions: TaskQuestions;
  readonly #state = new TaskState();
  readonly #pace: Pace;
  /** Whether this client knows that the task existed. */
  #known: boolean;
  /** What every wait is told once the server said that it does not know the task. */
  #gone: TaskClientError | undefined;
  #run: PollRun | undefined;
  /** As it was told last. */
  #ttlMs: number | null | undefined;

  /** `task` is what the answer that made the task told of it, if it told enough. */
  constructor(taskId: string, origin: TaskOrigin, task: RemoteTask | undefined, services: WatchServices) {
    this.taskId = taskId;
    this.#services = services;
    this.#known = origin !== "named";
    const { protocol, clock, callbacks, keeper, run, events } = services;
    this.#pace = new Pace(clock);
    const fail = (error: unknown): void => this.#stop(error);
    const answers = keeper.answersOf(taskId);
    this.#questions = new TaskQuestions({ taskId, protocol, clock, callbacks, answers, run, fail });
    this.#ttlMs = task?.ttlMs;
    if (origin !== "created") events.tell({ type: "task_resumed", taskId });
    if (task !== undefined) this.#see(task, this.#state.source(), "call");
  }

  /**
   * The task as it is known now, if it is, and each change; ends after a terminal state. A slow reader is given the
   * newest state only. Rejects with the signal's reason, and with a TaskClientError when nothing more can be learnt.
   * Polls are `pollIntervalMs` apart, as far as this wait has a say.
   */
  async *updates(signal?: AbortSignal, pollIntervalMs?: number): AsyncGenerator<RemoteTask, void, undefined> {
    signal?.throwIfAborted();
    const leavePace = this.#pace.join(pollIntervalMs);
    const run = this.#join();
    let shown: RemoteTask | undefined;
    let outcome: WaitOutcome = "left";
    try {
      for (;;) {
        if (this.#state.task !== undefined && this.#state.task !== shown) {
          shown = this.#state.task;
          if (hasEnded(shown)) outcome = shown.status;
          yield shown;
        } else if (shown !== undefined && hasEnded(shown)) return;
        else if (this.#gone !== undefined) throw this.#gone;
        else if (run.fault !== undefined) throw run.fault.error;
        else await run.change(signal);
      }
    } catch (error) {
      outcome = failureOf(error).code;
      throw error;
    } finally {
      leavePace();
      run.leave();
      this.#services.events.tell({ type: "wait_ended", taskId: this.taskId, outcome });
    }
  }

  /** One request for the task's state, now. */
  async get(signal: AbortSignal): Promise<RemoteTask> {
    const reply = await this.#services.protocol.get(this.taskId, signal);
    if (reply.kind === "value") {
      // Only a wait takes over what it reads: this answer may be older than the last poll's.
      this.#known = true;
      return reply.value;
    }
    throw isUnknown(reply) ? this.#unknownError(reply) : replyError(reply, this.taskId);
  }

  /** Takes the task's questions back from the user; its waits end by the client's own signal. */
  close(reason: unknown): void {
    this.#questions.end(reason);
  }

  #join(): PollRun {
    const ended = this.#isOver;
    if (ended || this.#run === undefined || this.#run.isOver) {
      const run = new PollRun(this.#services.closing);
      this.#run = run;
      if (!ended) this.#services.run(this.#poll(run));
    }
    this.#run.join();
    return this.#run;
  }

  async #poll(run: PollRun): Promise<void> {
    const { protocol, listening } = this.#services;
    const loop = new PollLoop({
      ...this.#services,
      taskId: this.taskId,
      pace: this.#pace,
      state: this.#state,
      see: (task, source) => this.#polled(task, source),
      rest: (ms) => {
        this.#pace.rest(ms);
        this.#services.keepWatch(this);
      },
      unknown: (reply) => this.#end(this.#unknownError(reply)),
    });
    let stream = this.#state.source();
    const leave = listening.join(this.taskId, {
      onAsked: () => (stream = this.#state.source()),
      onListened: (listened) => (loop.listened = listened),
      onTask: (task) => {
        if (run.isOver) return; // nobody waits, so nobody is asked anything
        if (this.#see(task, stream, "push") === "unclear") loop.hurry();
        else loop.look();
      },
    });
    const told = this.#state.source();
    const attendant = {
      onTask: (task: RemoteTask): void => {
        if (run.isOver) return;
        if (this.#see(task, told, "push") === "unclear") loop.hurry();
        else loop.look();
      },
      onHint: () => loop.hurry(),
    };
    const hush = protocol.attend?.(this.taskId, attendant, this.#state.task);
    try {
      await loop.run(run.signal);
    } catch (error) {
      run.fail(error);
    } finally {
      hush?.();
      leave(this.#isOver);
    }
    run.wake();
  }

  #polled(task: RemoteTask, source: Source): void {
    const verdict = this.#see(task, source, "poll");
    if (verdict !== "news" && verdict !== "same") return;
    const refusal = task.status === "input_required" ? this.#questions.refusal(task) : undefined;
    if (refusal !== undefined) throw refusal;
  }

  /** Takes a state that was polled or pushed. */
  #see(task: RemoteTask, source: Source, from: "call" | "poll" | "push"): Verdict {
    this.#known = true;
    const { events, clock, keepWatch, forget, keeper } = this.#services;
    const { taskId } = this;
    const verdict = this.#state.take(task, source, clock.elapsed());
    if (verdict === "news") {
      events.tell({ type: "task_seen", taskId, status: task.status, source: from });
      this.#run?.wake();
    }
    if (verdict === "news" && task.status === "input_required") keepWatch(this);
    if (verdict === "news" || verdict === "same") this.#questions.see(task);
    if (this.#state.hasEnded) forget(taskId);
    else if (verdict === "news" && task.ttlMs !== this.#ttlMs) {
      this.#ttlMs = task.ttlMs;
      keeper.lives(task);
    }
    return verdict;
  }

  get #isOver(): boolean {
    return this.#gone !== undefined || this.#state.hasEnded;
  }

  #end(error: TaskClientError): void {
    this.#gone = error;
    this.#questions.end(error);
    this.#services.forget(this.taskId);
  }

  #stop(error: unknown): void {
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
