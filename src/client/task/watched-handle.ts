import type { CallToolResult } from "@modelcontextprotocol/client";
import { isExpiredError } from "../../task/expired-error.ts";
import { sendWithRetries } from "../reply/retry.ts";
import { withReference, TaskClientError } from "../task-client-error.ts";
import { hasEnded, type EndedTask, type RemoteTask } from "./remote-task.ts";
import { type Reply, replyError } from "../reply/reply.ts";
import type { LinesOptions, TaskHandle, WaitOptions } from "./task-handle.ts";
import type { LineList } from "../../task/task-line.ts";
import { readLines, type LogLine, type OutputPart } from "./task-lines.ts";
import type { TaskReference } from "./task-reference.ts";
import { assertWait, WaitLimit, withWaitLimit } from "./wait-limit.ts";
import type { TaskWatch, WatchServices } from "./task-watch.ts";

export interface HandleOptions {
  readonly immediateResponse?: string | undefined;
  readonly deleteAfterFetch?: boolean | undefined;
}

/** The handle for a task on the server. All handles for one task share its watch. */
export class WatchedHandle implements TaskHandle {
  readonly reference: TaskReference;
  readonly immediateResponse: string | undefined;
  readonly #watch: TaskWatch;
  readonly #services: WatchServices;
  readonly #deletes: boolean;

  constructor(
    reference: TaskReference,
    watch: TaskWatch,
    services: WatchServices,
    { immediateResponse, deleteAfterFetch = false }: HandleOptions,
  ) {
    this.reference = reference;
    this.immediateResponse = immediateResponse;
    this.#deletes = deleteAfterFetch;
    this.#watch = watch;
    this.#services = services;
  }

  get taskId(): string {
    return this.reference.taskId;
  }

  async get(options: WaitOptions = {}): Promise<RemoteTask> {
    return this.#withWaitLimit(options, async (signal) => this.#watch.get(signal));
  }

  updates(options: WaitOptions = {}): AsyncIterable<RemoteTask> {
    assertWait(options);
    return this.#updates(options);
  }

  logs(options: LinesOptions = {}): AsyncIterable<LogLine> {
    assertWait(options);
    return this.#lines("log", options);
  }

  output(options: LinesOptions = {}): AsyncIterable<OutputPart> {
    assertWait(options);
    return this.#lines("output", options);
  }

  async result(options: WaitOptions = {}): Promise<CallToolResult> {
    const { reference } = this;
    for await (const task of this.updates(options)) {
      if (!hasEnded(task)) continue;
      if (this.#deletes) await this.#deleteFetched();
      return outcomeOf(task, reference);
    }
    throw new TaskClientError("protocol", "The task's updates ended before the task did", { reference });
  }

  async cancel(options: WaitOptions = {}): Promise<void> {
    return this.#withWaitLimit(options, async (signal) => this.#cancel(signal));
  }

  async delete(options: WaitOptions = {}): Promise<void> {
    return this.#withWaitLimit(options, async (signal) => this.#delete(signal));
  }

  async *#updates(options: WaitOptions): AsyncGenerator<RemoteTask, void, undefined> {
    const { clock, journal } = this.#services;
    const limit = new WaitLimit(options, clock);
    let isTold = false;
    try {
      for await (const task of this.#watch.updates(limit.signal, options.pollIntervalMs)) {
        isTold = hasEnded(task);
        yield task;
      }
    } catch (error) {
      await this.#fail(error, options.signal);
    } finally {
      limit.clear();
      // The end was delivered, even if the caller stops reading here: remove the call.
      if (isTold) journal.removeTask(this.taskId);
    }
  }

  async *#lines<Read extends LogLine | OutputPart>(
    list: LineList,
    options: LinesOptions,
  ): AsyncGenerator<Read, void, undefined> {
    const { clock, readText, closing, protocol, run } = this.#services;
    const limit = new WaitLimit(options, clock);
    const signal = limit.signal === undefined ? closing : AbortSignal.any([limit.signal, closing]);
    const get = (until: AbortSignal): Promise<RemoteTask> => this.#watch.get(until);
    try {
      yield* readLines<Read>(
        list,
        {
          taskId: this.taskId,
          clock,
          readText,
          get,
          run,
          follow: options.follow !== false,
          followLines: protocol.followLines,
        },
        signal,
      );
    } catch (error) {
      await this.#fail(error, options.signal);
    } finally {
      limit.clear();
    }
  }

  async #cancel(signal: AbortSignal): Promise<void> {
    const { protocol, clock, events } = this.#services;
    const { taskId } = this;
    events.emit({ type: "cancel_requested", taskId });
    const reply = await sendWithRetries(() => protocol.cancel(taskId, signal), clock, signal);
    if (reply.kind === "error" && reply.error.code === -32602) {
      const options = { error: reply.error, taskId };
      throw new TaskClientError("unknown_task", "The server does not know the task", options);
    }
    if (reply.kind !== "value") throw replyError(reply, taskId);
    events.emit({ type: "cancel_acknowledged", taskId });
  }

  async #delete(signal: AbortSignal): Promise<void> {
    const { protocol } = this.#services;
    const { taskId } = this;
    const reply = (await protocol.delete?.(taskId, signal)) ?? cannotDelete;
    if (reply.kind !== "value") throw replyError(reply, taskId);
  }

  /** Reports a failed deletion to `onError`: the caller still gets the result. */
  async #deleteFetched(): Promise<void> {
    if (this.#services.protocol.delete === undefined) return;
    await this.delete().catch((error: unknown) => this.#services.onError(error));
  }

  /** Throws the caller's own abort reason unchanged, and all other errors with the task's reference. */
  async #fail(error: unknown, signal: AbortSignal | undefined): Promise<never> {
    if (signal?.aborted === true && error === signal.reason) throw error;
    if (error instanceof TaskClientError && isUnknownTask(error))
      await this.#services.journal.removeIfExpired(this.taskId);
    throw withReference(error, this.reference);
  }

  async #withWaitLimit<Value>(
    options: WaitOptions,
    work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value> {
    try {
      return await withWaitLimit(options, this.#services, work);
    } catch (error) {
      return this.#fail(error, options.signal);
    }
  }
}

/** Neither proves that the task has ended: the server may show it under another token. */
function isUnknownTask({ code, error }: TaskClientError): boolean {
  return error?.code === -32602 && (code === "unknown_task" || code === "expired");
}

const cannotDelete: Reply<undefined> = {
  kind: "error",
  error: { code: -32601, message: "Tasks of this generation cannot be deleted" },
};

function outcomeOf(task: EndedTask, reference: TaskReference): CallToolResult {
  switch (task.status) {
    case "completed":
      return task.result;
    case "failed":
      throw new TaskClientError(isExpiredError(task.error) ? "expired" : "failed", task.error.message, {
        error: task.error,
        reference,
      });
    case "cancelled":
      throw new TaskClientError("cancelled", task.statusMessage ?? "The task was cancelled", { reference });
  }
}
