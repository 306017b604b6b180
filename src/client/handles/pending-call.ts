import type { TaskHandle, WaitOptions } from "../task/task-handle.ts";
import type { TaskReference } from "../task/task-reference.ts";

/** A call of this client, or of one before it, whose end nobody was told yet. */
export interface PendingCall {
  /** The task that the call became; `null` where its answer never came, so that nobody knows whether there is one. */
  readonly reference: TaskReference | null;
  /** Names the call, as its `idempotencyKey` did. */
  readonly idempotencyKey: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Epoch milliseconds, by the clock of the client that began it. */
  readonly startedAt: number;
  /**
   * Takes the call up: the handle of its task, or, where the answer never came, of the same call sent again. A server
   * that recognises repeats, as a Holdfast server does, then finds the same task, or makes the one that it was never
   * asked for. With any other server that would be a second task, so this rejects with `connection`, and says so. It
   * does too for an unanswered call that is older than the server says that it recognises one, a day where it does not
   * say: it may have forgotten the call, and would run it again.
   */
  take(options?: WaitOptions): Promise<TaskHandle>;
  /** Takes the call off the list. If it has a task, that runs on. */
  forget(): Promise<void>;
}
