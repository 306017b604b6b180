import type { CallToolResult } from "@modelcontextprotocol/client";
import type { RemoteTask } from "./remote-task.ts";
import type { TaskReference } from "./task-reference.ts";

/** Of one wait. However it ends early, the task does not notice: it runs on, and can be waited for again. */
export interface WaitOptions {
  /** Ends the wait with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the wait ends with the error `timeout`. Default: there is no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Milliseconds between polls that are enough for this wait; polls are never closer than the server asks for. Of
   * several who wait for one task, whoever wants to know soonest decides. Default: the server's interval.
   */
  readonly pollIntervalMs?: number | undefined;
}

/**
 * One call that was started. If the server answered it at once there is no task: `reference` and `taskId` are `null`,
 * and the rest behaves as for a task that is already completed.
 */
export interface TaskHandle {
  /** What `client.resume` takes, now or after a restart of your own; plain JSON. */
  readonly reference: TaskReference | null;
  readonly taskId: string | null;
  /**
   * What the server suggests to tell a model at once, while the task runs on. Not every server does, and only in
   * protocol 2025-11-25; where it is left out, say something of your own.
   */
  readonly immediateResponse?: string | undefined;
  /** Asks the server once, now; does not wait for a server that is away (`connection`). */
  get(options?: WaitOptions): Promise<RemoteTask>;
  /**
   * The task as it stands, and each change once, until it ended. A slow reader is given the newest state only.
   * Reading also puts the task's questions to `onInput`.
   *
   * ```ts
   * for await (const task of handle.updates()) console.log(task.status, task.statusMessage);
   * ```
   */
  updates(options?: WaitOptions): AsyncIterable<RemoteTask>;
  /**
   * Waits for the result, over HTTP through restarts of the server and broken connections, without limit but the options
   * and the task's own end of life. Rejects with a TaskClientError: `failed`, `cancelled`, `expired` and the others.
   */
  result(options?: WaitOptions): Promise<CallToolResult>;
  /**
   * Asks the server to cancel the task, again until it acknowledges. Cancelling is cooperative: the task may still
   * end in another way, which `result()` then tells.
   */
  cancel(options?: WaitOptions): Promise<void>;
  /**
   * Has the server delete the task, its result and all that it keeps of it, before their time; it may refuse. Only tasks
   * of SEP-1686 can be deleted; others reject with `rpc`. See also `deleteAfterFetch`.
   */
  delete(options?: WaitOptions): Promise<void>;
}
