import type { CallToolResult } from "@modelcontextprotocol/client";
import {
  cancelTask,
  deleteTask,
  listArtifacts,
  readLines,
  type LogLine,
  type OutputPart,
  type RequestServices,
  type TaskArtifact,
} from "./task-requests.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import { isExpiredError } from "../../task/outcome.ts";
import { withReference, TaskClientError } from "../task-client-error.ts";
import { type EndedTask, hasEnded, type RemoteTask, type TaskReference } from "./remote-task.ts";
import {
  type LinesOptions,
  type TaskHandle,
  type WaitOptions,
  assertWait,
  readMs,
  WaitLimit,
  withWaitLimit,
} from "./task-handle.ts";
import type { LineList } from "../../task/task-line.ts";
import type { TaskWatch } from "./task-watch.ts";

export interface HandleOptions {
  readonly immediateResponse?: string | undefined;
  readonly deleteAfterFetch?: boolean | undefined;
}

export interface HandleServices extends RequestServices {
  readonly journal: CallJournal;
  readonly background: BackgroundWork;
  /** Of waits whose own options name none. */
  readonly limits: Pick<WaitOptions, "unreachableTimeoutMs">;
}

/** A caller's handle for a task on the server. All handles for one task share its watch. */
export class WatchedHandle implements TaskHandle {
  readonly reference: TaskReference;
  readonly immediateResponse: string | undefined;
  readonly #watch: TaskWatch;
  readonly #services: HandleServices;
  readonly #deletes: boolean;

  constructor(
    watch: TaskWatch,
    services: HandleServices,
    { immediateResponse, deleteAfterFetch = false }: HandleOptions,
  ) {
    this.reference = services.journal.referenceTo(watch.taskId);
    this.immediateResponse = immediateResponse;
    this.#deletes = deleteAfterFetch && services.protocol.delete !== undefined;
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

  async artifacts(options: WaitOptions = {}): Promise<readonly TaskArtifact[]> {
    assertWait(options);
    const { clock, background, limits } = this.#services;
    const limit = new WaitLimit({ ...limits, ...options }, clock);
    try {
      const signal = limit.or(background.closing);
      return await listArtifacts(this.#services, this.taskId, limit.onTrouble, signal);
    } catch (error) {
      return await this.#fail(error, options.signal);
    } finally {
      limit.clear();
    }
  }

  async result(options: WaitOptions = {}): Promise<CallToolResult> {
    const { reference } = this;
    for await (const task of this.updates(options)) {
      if (!hasEnded(task)) continue;
      if (this.#deletes) await this.#deleteFetched();
      return outcomeOf(task, reference);
    }
    throw new TaskClientError("protocol", "The server stopped reporting on the task before it ended", {
      reference,
    });
  }

  async cancel(options: WaitOptions = {}): Promise<void> {
    return this.#withWaitLimit(options, async (signal) => cancelTask(this.#services, this.taskId, signal));
  }

  async delete(options: WaitOptions = {}): Promise<void> {
    return this.#withWaitLimit(options, async (signal) => deleteTask(this.#services, this.taskId, signal));
  }

  async *#updates(options: WaitOptions): AsyncGenerator<RemoteTask, void, undefined> {
    const { clock, journal } = this.#services;
    const limit = new WaitLimit({ ...this.#services.limits, ...options }, clock);
    let isTold = false;
    try {
      const pollIntervalMs = readMs("pollIntervalMs", options.pollIntervalMs);
      for await (const task of this.#watch.updates(limit.signal, pollIntervalMs, limit.onTrouble)) {
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
    const { clock, background, limits } = this.#services;
    const limit = new WaitLimit({ ...limits, ...options }, clock);
    const { onTrouble } = limit;
    try {
      const read = { watch: this.#watch, follow: options.follow !== false, onTrouble };
      yield* readLines<Read>(list, this.#services, read, limit.or(background.closing));
    } catch (error) {
      await this.#fail(error, options.signal);
    } finally {
      limit.clear();
    }
  }

  /** Reports a failed deletion to `onError`: the caller still gets the result. */
  async #deleteFetched(): Promise<void> {
    await this.delete().catch(this.#services.background.onError);
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
