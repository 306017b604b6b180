import type { CallToolResult } from "@modelcontextprotocol/client";
import { persist } from "../reply/persist.ts";
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
    return this.#watch.get(this.#either(signal));
  }

  updates({ signal }: WaitOptions = {}): AsyncIterable<RemoteTask> {
    return this.#watch.updates(signal);
  }

  async result({ signal }: WaitOptions = {}): Promise<CallToolResult> {
    for await (const task of this.#watch.updates(signal)) if (hasEnded(task)) return outcomeOf(task);
    throw new TaskClientError("protocol", "The task's updates ended without an end", { taskId: this.taskId });
  }

  async cancel({ signal }: WaitOptions = {}): Promise<void> {
    const { protocol, clock } = this.#services;
    const either = this.#either(signal);
    const reply = await persist(() => protocol.cancel(this.taskId, either), clock, either);
    if (reply.kind === "error" && reply.error.code === -32602) {
      const options = { error: reply.error, taskId: this.taskId };
      throw new TaskClientError("unknown_task", "The server does not know the task", options);
    }
    if (reply.kind !== "value") throw replyError(reply, this.taskId);
  }

  #either(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#services;
    return signal === undefined ? closing : AbortSignal.any([signal, closing]);
  }
}

function outcomeOf(task: EndedTask): CallToolResult {
  const { taskId } = task;
  switch (task.status) {
    case "completed":
      return task.result;
    case "failed":
      throw new TaskClientError("failed", task.error.message, { error: task.error, taskId });
    case "cancelled":
      throw new TaskClientError("cancelled", task.statusMessage ?? "The task was cancelled", { taskId });
  }
}
