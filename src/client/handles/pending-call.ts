import type { TaskHandle, WaitOptions } from "../task/task-handle.ts";
import type { TaskReference } from "../task/task-reference.ts";

/** A call of this client, or of an earlier one, whose outcome was not delivered yet. */
export interface PendingCall {
  /** The call's task; `null` if the call was never answered, so that it may or may not have one. */
  readonly reference: TaskReference | null;
  /** The call's idempotency key. */
  readonly idempotencyKey: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Epoch milliseconds, by the clock of the client that made the call. */
  readonly startedAt: number;
  /**
   * Resolves with the handle of the call's task. A call that was never answered is sent again under the same idempotency
   * key, so that a server that recognises repeats, as a Holdfast server does, finds the same task. Rejects with
   * `connection` where that could run the call twice: on any other server, and for a call older than the server
   * recognises repeats (by default a day).
   */
  take(options?: WaitOptions): Promise<TaskHandle>;
  /** Removes the call from the store. Its task, if it has one, runs on. */
  forget(): Promise<void>;
}
