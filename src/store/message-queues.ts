/** A message for the client of a task, which waits until its client asks for it. */
export interface NewMessage {
  readonly body: string;
  /** True for one that is of use only to the process that puts it. */
  readonly bound: boolean;
}

/** What became of a message: `unknown`: no such task; `full`: its queue has as many as it may have. */
export type PutMessageResult =
  { readonly ok: true } | { readonly ok: false; readonly reason: "unknown" | "full" };

/**
 * An optional part of a store: a queue of messages for each task, which servers on SDK v1 need. A queue goes with its task,
 * and messages are no change of it. What is bound to a process is taken by no other one, and the store drops it when that
 * process is gone. As in the rest of the store, a write resolves after its commit, and a failed one rejects with a
 * `HoldfastError` and has changed nothing.
 */
export interface MessageQueues {
  /** Puts a message at the end of a task's queue, whatever the task's state. `maxMessages` null: no limit. */
  put(taskId: string, message: NewMessage, maxMessages: number | null): Promise<PutMessageResult>;
  /** Takes up to `limit` messages (null: all) off the queue of a task, the first ones first. Resolves with their bodies. */
  take(taskId: string, limit: number | null): Promise<readonly string[]>;
}
