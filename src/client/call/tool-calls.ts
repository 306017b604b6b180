import { type ProgressTokens, startCall, type StartedCall, type StartServices } from "./start-call.ts";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { BackgroundWork } from "../background-work.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import type { StoredCall } from "../handles/handle-store.ts";
import type { CallAndWaitOptions, CallOptions } from "../task-client.ts";
import { withReference, TaskClientError } from "../task-client-error.ts";
import type { AnsweredRound, CallAnswer } from "../task-protocol.ts";
import { type TaskHandle, type WaitOptions, assertWait, readMs, WaitLimit } from "../task/task-handle.ts";
import { cancelTask } from "../task/task-requests.ts";
import type { KnownTask, TaskOrigin } from "../task/task-watch.ts";
import type { HandleOptions } from "../task/watched-handle.ts";
import { directHandle, makeIdempotencyKey, type PendingCall, pendingCall } from "./pending-call.ts";

export interface ToolCallServices extends StartServices {
  readonly journal: CallJournal;
  readonly background: BackgroundWork;
  readonly progress: ProgressTokens;
  readonly handle: (
    taskId: string,
    origin: TaskOrigin,
    known: KnownTask,
    options?: HandleOptions,
  ) => TaskHandle;
}

type Sending =
  /** `findsAgain`: the caller or the next process can find the task again, so it may continue if its answer comes too late. */
  | { readonly kind: "new"; readonly findsAgain: boolean }
  /** The call may have been sent before: it comes from the store, or its caller says so. */
  | { readonly kind: "again" };

type StartOptions = WaitOptions & Pick<CallOptions, "onProgress" | "deleteAfterFetch">;

const cancelOnAbortMs = 5_000;

/** The tool calls of a client. Its journal keeps each one from before it is sent until its outcome is delivered. */
export class ToolCalls {
  readonly #services: ToolCallServices;

  constructor(services: ToolCallServices) {
    this.#services = services;
  }

  /** Starts a call and waits for its result. */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { onUpdate, onTask, cancelOnAbort = false, ...options }: CallAndWaitOptions,
  ): Promise<CallToolResult> {
    assertWait(options);
    const limit = new WaitLimit(options, this.#services.clock);
    const limited = { ...options, signal: limit.signal, timeoutMs: undefined };
    let handle: TaskHandle | undefined;
    try {
      handle = await this.start(name, args, { ...limited, cancelOnAbort });
      limit.reference = handle.reference ?? undefined;
      if (handle.reference !== null) await onTask?.(handle.reference);
      if (handle.reference !== null && onUpdate !== undefined) {
        for await (const task of handle.updates(limited)) await onUpdate(task);
        // The task has ended, so return its result even if the time limit has passed meanwhile.
        return await handle.result();
      }
      return await handle.result(limited);
    } catch (error) {
      const { signal } = options;
      if (signal?.aborted !== true || error !== signal.reason || handle?.reference == null) throw error;
      if (cancelOnAbort && (await this.cancel(handle))) throw error;
      const message = `The call was aborted, and its task goes on${cancelOnAbort ? ", since it could not be cancelled" : ""}`;
      throw new TaskClientError("aborted", message, { reference: handle.reference, cause: error });
    } finally {
      limit.clear();
    }
  }

  async start(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { idempotencyKey, sentAt, ttlMs: ttl, cancelOnAbort = false, ...options }: CallAndWaitOptions,
  ): Promise<TaskHandle> {
    const ttlMs = readMs("ttlMs", ttl);
    assertWait(options);
    const { clock, journal } = this.#services;
    const key = idempotencyKey ?? makeIdempotencyKey();
    const startedAt = sentAt ?? clock.now();
    const call = journal.entryFor({ key, tool: name, args, ttlMs, startedAt });
    if (sentAt !== undefined) return this.#start(call, { kind: "again" }, options);
    const findsAgain = idempotencyKey !== undefined || (journal.isPersistent && !cancelOnAbort);
    return this.#start(call, { kind: "new", findsAgain }, options);
  }

  /** Calls of this client, or of earlier ones, whose outcomes were not delivered. */
  async pending(): Promise<readonly PendingCall[]> {
    const { journal, clock, protocol, background, handle } = this.#services;
    background.closing.throwIfAborted();
    const services = {
      journal,
      now: () => clock.now(),
      protocol,
      resume: (taskId: string, tool: string) => {
        background.closing.throwIfAborted();
        return handle(taskId, "stored", { tool });
      },
      sendAgain: async (call: StoredCall, options: WaitOptions) =>
        this.#start(call, { kind: "again" }, options),
    };
    return (await journal.list()).map((call) => pendingCall(call, services));
  }

  /** Tries to cancel within five seconds, for a caller that has given up the task. Resolves with whether that worked. */
  async cancel(handle: Pick<TaskHandle, "taskId" | "cancel">): Promise<boolean> {
    const isCancelled = await this.#inTime((signal) => handle.cancel({ signal }));
    // Its outcome will not be delivered.
    if (isCancelled && handle.taskId !== null) this.#services.journal.removeTask(handle.taskId);
    return isCancelled;
  }

  async #inTime(cancel: (signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
    const deadline = this.#services.clock.deadline(cancelOnAbortMs);
    return cancel(deadline.signal)
      .then(
        () => true,
        () => false,
      )
      .finally(() => deadline.clear());
  }

  /** The answer to a call came after its caller gave up: a task that nobody can find is cancelled. */
  async #late(entry: StoredCall, answer: CallAnswer, sending: Sending): Promise<void> {
    const { journal, protocol, clock, callbacks } = this.#services;
    if (answer.kind !== "task") return journal.removeCall(entry);
    const { taskId } = answer;
    if (sending.kind === "again" || sending.findsAgain) return journal.recordLateTask(entry, taskId);
    // Not by a handle: a client that closes meanwhile waits for this, and its handles have ended.
    const services = { protocol, clock, events: callbacks.events };
    if (await this.#inTime((signal) => cancelTask(services, taskId, signal))) journal.removeCall(entry);
    else journal.recordLateTask(entry, taskId);
  }

  async #start(
    call: StoredCall,
    sending: Sending,
    { onProgress, deleteAfterFetch, ...waiting }: StartOptions,
  ): Promise<TaskHandle> {
    const { background, clock, progress, handle } = this.#services;
    const limit = new WaitLimit(waiting, clock);
    const reports = onProgress && progress.open(onProgress);
    let hasTask = false;
    try {
      const starting = this.#send(call, sending, reports?.token, limit);
      background.run(starting);
      const started = await starting;
      if (started.kind === "result") return directHandle(started.result, clock.now());
      const { taskId, task, immediateResponse } = started;
      reports?.followTask(taskId);
      hasTask = true;
      const known = { task, tool: call.tool };
      return handle(taskId, "created", known, { immediateResponse, deleteAfterFetch });
    } finally {
      limit.clear();
      if (!hasTask) reports?.stop();
    }
  }

  /**
   * Sends a call, which is stored before. Stores the task's id before the caller learns it, and removes a call that
   * has no task. A call without an answer stays stored, since it may have a task.
   */
  async #send(
    entry: StoredCall,
    sending: Sending,
    progressToken: string | undefined,
    limit: WaitLimit,
  ): Promise<Exclude<StartedCall, { kind: "refused" }>> {
    const { journal, background } = this.#services;
    const signal = limit.or(background.closing);
    const isAgain = sending.kind === "again";
    signal.throwIfAborted();
    // A call that was sent before under the same key may have a task, even if it fails now.
    const isNew = !isAgain && (await journal.recordCall(entry));
    if (signal.aborted && isNew) journal.removeCall(entry); // nothing was sent
    signal.throwIfAborted();
    const call = {
      name: entry.tool,
      args: entry.args,
      idempotencyKey: entry.key,
      ttlMs: entry.ttlMs,
      progressToken,
      findsAgain: isAgain || sending.findsAgain,
      onLate: (answer: CallAnswer) => this.#late(entry, answer, sending),
    };
    const earlier = {
      sentAt: isAgain ? entry.startedAt : undefined,
      round: entry.round,
      recordRound: async (round: AnsweredRound) => journal.recordRound(entry, round),
    };
    const services = { ...this.#services, onTrouble: limit.onTrouble };
    const started = await startCall(call, services, signal, earlier).catch(async (error: unknown) => {
      // An invalid answer can still name the task.
      if (!(error instanceof TaskClientError) || error.taskId === undefined) throw error;
      await journal.recordTask(entry, error.taskId);
      throw withReference(error, journal.referenceTo(error.taskId));
    });
    if (started.kind === "task") await journal.recordTask(entry, started.taskId, started.task);
    else if (started.kind === "result" || isNew || isAgain) journal.removeCall(entry);
    if (started.kind === "refused") throw started.error;
    return started;
  }
}
