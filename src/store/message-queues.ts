/** A message for the client of a task. It waits until the client asks for it. */
export interface NewMessage {
  readonly body: string;
  /** True if only the process that puts the message can use it. */
  readonly bound: boolean;
}

/** The result of putting a message. `unknown`: no such task; `full`: its queue is full. */
export type PutMessageResult =
  { readonly ok: true } | { readonly ok: false; readonly reason: "unknown" | "full" };

/**
 * An optional part of a store: a queue of messages for each task, which servers on SDK v1 need. A queue is deleted with its task; messages
 * do not change the task. No other process takes a message that is bound to one, and the store drops it when that process is gone. As in
 * the rest of the store, a write resolves after its commit, and a failed one rejects with a `HoldfastError` and has changed nothing.
 */
export interface MessageQueues {
  /** Puts a message at the end of a task's queue, whatever the task's state. `maxMessages` null: no limit. */
  put(taskId: string, message: NewMessage, maxMessages: number | null): Promise<PutMessageResult>;
  /** Removes and returns the bodies of up to `limit` messages (null: all) from a task's queue, first ones first. */
  take(taskId: string, limit: number | null): Promise<readonly string[]>;
}
