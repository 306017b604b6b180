import { isDeepStrictEqual } from "node:util";
import type { UserCallbacks } from "../question/ask-user.ts";
import type { ClientClock } from "../clock.ts";
import { endOfLife, pollDelay, retryDelay } from "./pacing.ts";
import { PollRun } from "./poll-run.ts";
import { hasEnded, type RemoteTask } from "./remote-task.ts";
import type { Reply } from "../reply/reply.ts";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { TaskQuestions } from "../question/task-questions.ts";

/** What a watch needs of its client. */
export interface WatchServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly pollFloorMs: number;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
  /** Takes what runs on by itself, so that closing the client can wait for it. */
  readonly run: (work: Promise<void>) => void;
  /** Called once the task can tell nothing new. */
  readonly forget: (taskId: string) => void;
}

/** How many internal errors in a row a server may answer a poll with before the wait is given up. */
const internalErrorsInARow = 10;

/**
 * Watches one task for everybody in this client who waits for it: polls while somebody does, through restarts of the
 * server, and puts the task's questions to the user.
 */
export class TaskWatch {
  readonly taskId: string;
  readonly #services: WatchServices;
  readonly #questions: TaskQuestions;
  #task: RemoteTask | undefined;
  /** When the server last told of the task, and whether this client knows that it existed. */
  #contactAt = 0;
  #known: boolean;
  /** The task is gone for good. */
  #gone: TaskClientError | undefined;
  #run: PollRun | undefined;

  /** `created` says that the task was made here just now; `task` is what its answer told, if it told enough. */
  constructor(taskId: string, created: boolean, task: RemoteTask | undefined, services: WatchServices) {
    this.taskId = taskId;
    this.#services = services;
    this.#known = created;
    const { protocol, clock, callbacks, run } = services;
    const fail = (error: unknown): void => this.#stop(error);
    this.#questions = new TaskQuestions({ taskId, protocol, clock, callbacks, run, fail });
    if (task !== undefined) this.#note(task);
  }

  /**
   * The task as it is known now, if it is, and each change; ends after a terminal state. A slow reader is given the
   * newest state only. Rejects with the signal's reason, and with a TaskClientError when nothing more can be learnt.
   */
  async *updates(signal?: AbortSignal): AsyncGenerator<RemoteTask, void, undefined> {
    signal?.throwIfAborted();
    const run = this.#join();
    let shown: RemoteTask | undefined;
    try {
      for (;;) {
        if (this.#task !== undefined && this.#task !== shown) {
          shown = this.#task;
          yield shown;
        } else if (shown !== undefined && hasEnded(shown)) return;
        else if (this.#gone !== undefined) throw this.#gone;
        else if (run.fault !== undefined) throw run.fault.error;
        else await run.change(signal);
      }
    } finally {
      run.leave();
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
    throw this.#isUnknown(reply) ? this.#unknownError(reply) : replyError(reply, this.taskId);
  }

  /** Takes the task's questions back from the user; its waits end by the client's own signal. */
  close(reason: unknown): void {
    this.#questions.end(reason);
  }

  #join(): PollRun {
    const ended = this.#gone !== undefined || (this.#task !== undefined && hasEnded(this.#task));
    if (ended || this.#run === undefined || this.#run.isOver) {
      const run = new PollRun(this.#services.closing);
      this.#run = run;
      if (!ended) this.#services.run(this.#poll(run));
    }
    this.#run.join();
    return this.#run;
  }

  async #poll(run: PollRun): Promise<void> {
    try {
      await this.#pollUntilEnd(run.signal);
    } catch (error) {
      run.fail(error);
    }
    run.wake();
  }

  async #pollUntilEnd(signal: AbortSignal): Promise<void> {
    const { clock, protocol, pollFloorMs, forget } = this.#services;
    let internalErrors = 0;
    for (let failures = 0; ;) {
      if (failures === 0 && this.#task !== undefined) {
        const due = this.#contactAt + pollDelay(this.#task, pollFloorMs, clock.random());
        await clock.sleep(Math.max(due - clock.now(), 0), signal);
      }
      const reply = await protocol.get(this.taskId, signal);
      // An answer that arrives together with the end of the run asks nobody anything.
      signal.throwIfAborted();
      if (reply.kind === "value") {
        failures = 0;
        internalErrors = 0;
        if (this.#see(reply.value)) return forget(this.taskId);
        continue;
      }
      if (this.#isUnknown(reply)) return this.#end(this.#unknownError(reply));
      const isInternal = reply.kind === "error" && reply.error.code === -32603;
      if (reply.kind !== "lost" && !(isInternal && ++internalErrors < internalErrorsInARow)) {
        throw replyError(reply, this.taskId);
      }
      const wait = this.#waitAfter(reply, ++failures);
      // Only this wait ends: the server may have extended the task, which the next one finds out.
      if (wait === undefined) throw this.#expiredError(reply);
      await clock.sleep(wait, signal);
    }
  }

  /** Milliseconds to wait before the next try; `undefined` once the task has outlived its ttl without contact. */
  #waitAfter(reply: Reply<unknown>, failures: number): number | undefined {
    const { clock } = this.#services;
    const left = this.#task === undefined ? Infinity : endOfLife(this.#task, this.#contactAt) - clock.now();
    if (left <= 0) return undefined;
    const retryAfterMs = reply.kind === "lost" ? reply.retryAfterMs : undefined;
    return Math.min(retryDelay(failures, clock.random(), retryAfterMs), left);
  }

  /** Takes a polled state; true if it is the last. */
  #see(task: RemoteTask): boolean {
    this.#note(task);
    this.#questions.see(task);
    if (task.status === "input_required") {
      const refusal = this.#questions.refusal(task);
      if (refusal !== undefined) throw refusal;
    }
    return hasEnded(task);
  }

  #note(task: RemoteTask): void {
    this.#known = true;
    this.#contactAt = this.#services.clock.now();
    if (isDeepStrictEqual(task, this.#task)) return;
    this.#task = task;
    this.#run?.wake();
  }

  #end(error: TaskClientError): void {
    this.#gone = error;
    this.#questions.end(error);
    this.#services.forget(this.taskId);
  }

  #stop(error: unknown): void {
    this.#run?.fail(error);
  }

  #isUnknown(reply: Reply<unknown>): boolean {
    return reply.kind === "error" && reply.error.code === -32602;
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

  #expiredError(reply: Reply<unknown>): TaskClientError {
    const cause = reply.kind === "lost" ? reply.cause : undefined;
    const message = "The task outlived its ttl while the server could not be reached";
    return new TaskClientError("expired", message, { cause, taskId: this.taskId });
  }
}
