import type { CallToolResult } from "@modelcontextprotocol/client";
import { persist } from "../reply/persist.ts";
import { aboutTask } from "./about-task.ts";
import { hasEnded, type EndedTask, type RemoteTask } from "./remote-task.ts";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { TaskHandle, WaitOptions } from "./task-handle.ts";
import type { TaskReference } from "./task-reference.ts";
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

  async get({ signal }: WaitOptions = {}): Promise<RemoteTask> {
    return this.#watch.get(this.#either(signal)).catch((error: unknown) => this.#fail(error, signal));
  }

  async *updates({ signal }: WaitOptions = {}): AsyncGenerator<RemoteTask, void, undefined> {
    let isTold = false;
    try {
      for await (const task of this.#watch.updates(signal)) {
        isTold = hasEnded(task);
        yield task;
      }
    } catch (error) {
      isTold = error === this.#watch.gone;
      this.#fail(error, signal);
    } finally {
      // Whoever was told the end needs the handle no more, also where they stop reading there.
      if (isTold) this.#services.keeper.dropTask(this.taskId);
    }
  }

  async result({ signal }: WaitOptions = {}): Promise<CallToolResult> {
    const { reference } = this;
    for await (const task of this.updates({ signal })) if (hasEnded(task)) return outcomeOf(task, reference);
    throw new TaskClientError("protocol", "The task's updates ended without an end", { reference });
  }

  async cancel({ signal }: WaitOptions = {}): Promise<void> {
    return this.#cancel(signal).catch((error: unknown) => this.#fail(error, signal));
  }

  async #cancel(signal: AbortSignal | undefined): Promise<void> {
    const { protocol, clock } = this.#services;
    const either = this.#either(signal);
    const reply = await persist(() => protocol.cancel(this.taskId, either), clock, either);
    if (reply.kind === "error" && reply.error.code === -32602) {
      const options = { error: reply.error, taskId: this.taskId };
      throw new TaskClientError("unknown_task", "The server does not know the task", options);
    }
    if (reply.kind !== "value") throw replyError(reply, this.taskId);
  }

  /** A caller's own reason is theirs, whatever it is; all else says which task it is about. */
  #fail(error: unknown, signal: AbortSignal | undefined): never {
    if (signal?.aborted === true && error === signal.reason) throw error;
    throw aboutTask(error, this.reference);
  }

  #either(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#services;
    return signal === undefined ? closing : AbortSignal.any([signal, closing]);
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
