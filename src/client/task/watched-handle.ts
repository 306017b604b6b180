import type { CallToolResult } from "@modelcontextprotocol/client";
import { persist } from "../reply/persist.ts";
import { aboutTask } from "./about-task.ts";
import { hasEnded, type EndedTask, type RemoteTask } from "./remote-task.ts";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskHandle, WaitOptions } from "./task-handle.ts";
import type { TaskReference } from "./task-reference.ts";
import { assertWait, WaitLimit } from "./wait-limit.ts";
import type { TaskWatch, WatchServices } from "./task-watch.ts";

/** The handle for a task on the server. All handles for one task share its watch. */
export class WatchedHandle implements TaskHandle {
  readonly reference: TaskReference;
  readonly immediateResponse: string | undefined;
  readonly #watch: TaskWatch;
  readonly #services: WatchServices;

  constructor(
    reference: TaskReference,
    watch: TaskWatch,
    services: WatchServices,
    immediateResponse: string | undefined,
  ) {
    this.reference = reference;
    this.immediateResponse = immediateResponse;
    this.#watch = watch;
    this.#services = services;
  }

  get taskId(): string {
    return this.reference.taskId;
  }

  async get(options: WaitOptions = {}): Promise<RemoteTask> {
    return this.#within(options, async (signal) => this.#watch.get(signal));
  }

  updates(options: WaitOptions = {}): AsyncIterable<RemoteTask> {
    assertWait(options);
    return this.#updates(options);
  }

  async result(options: WaitOptions = {}): Promise<CallToolResult> {
    const { reference } = this;
    for await (const task of this.updates(options)) if (hasEnded(task)) return outcomeOf(task, reference);
    throw new TaskClientError("protocol", "The task's updates ended without an end", { reference });
  }

  async cancel(options: WaitOptions = {}): Promise<void> {
    return this.#within(options, async (signal) => this.#cancel(signal));
  }

  async *#updates(options: WaitOptions): AsyncGenerator<RemoteTask, void, undefined> {
    const { clock, keeper } = this.#services;
    const limit = new WaitLimit(options, clock);
    let isTold = false;
    try {
      for await (const task of this.#watch.updates(limit.signal, options.pollIntervalMs)) {
        isTold = hasEnded(task);
        yield task;
      }
    } catch (error) {
      isTold = error === this.#watch.gone;
      this.#fail(error, options.signal);
    } finally {
      limit.clear();
      // Whoever was told the end needs the handle no more, also where they stop reading there.
      if (isTold) keeper.dropTask(this.taskId);
    }
  }

  async #cancel(signal: AbortSignal): Promise<void> {
    const { protocol, clock, events } = this.#services;
    const { taskId } = this;
    events.tell({ type: "cancel_requested", taskId });
    const reply = await persist(() => protocol.cancel(taskId, signal), clock, signal);
    if (reply.kind === "error" && reply.error.code === -32602) {
      const options = { error: reply.error, taskId };
      throw new TaskClientError("unknown_task", "The server does not know the task", options);
    }
    if (reply.kind !== "value") throw replyError(reply, taskId);
    events.tell({ type: "cancel_acknowledged", taskId });
  }

  /** A caller's own reason is theirs, whatever it is; all else says which task it is about. */
  #fail(error: unknown, signal: AbortSignal | undefined): never {
    if (signal?.aborted === true && error === signal.reason) throw error;
    throw aboutTask(error, this.reference);
  }

  async #within<Value>(options: WaitOptions, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    assertWait(options);
    const { closing, clock } = this.#services;
    const limit = new WaitLimit(options, clock);
    const { signal } = limit;
    try {
      return await work(signal === undefined ? closing : AbortSignal.any([signal, closing]));
    } catch (error) {
      return this.#fail(error, options.signal);
    } finally {
      limit.clear();
    }
  }
}

function outcomeOf(task: EndedTask, reference: TaskReference): CallToolResult {
  switch (task.status) {
    case "completed":
      return task.result;
    case "failed":
      throw new TaskClientError("failed", task.error.message, { error: task.error, reference });
    case "cancelled":
      throw new TaskClientError("cancelled", task.statusMessage ?? "The task was cancelled", { reference });
  }
}
