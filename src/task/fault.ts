/**
 * Everything that can go wrong, by name. Messages are for people and may change; code decides by these.
 */
export type FaultCode =
  | "unknown_task"
  // the task has ended, and what was asked for is possible only before
  | "finished"
  // the task has not ended, and what was asked for is possible only then
  | "unfinished"
  | "invalid_params"
  | "invalid_request"
  | "method_not_found"
  | "idempotency_conflict"
  // the requestor's own id for a task belongs to another one
  | "wire_id_taken"
  | "missing_capability"
  // the requestor's token lacks scopes; `data.requiredScopes` names all that are needed
  | "insufficient_scope"
  // an admin endpoint does not know who asks
  | "unauthenticated"
  // too much of something; where another try makes sense, `data.retryAfterMs` says when
  | "limit_reached"
  // too fast, or too much for the process at the moment; `data.retryAfterMs` says when to try again
  | "rate_limited"
  // the connection of a request broke, and its client did not come back for the answer
  | "stream_lost"
  | "too_large"
  | "stopping"
  | "internal"
  // mistakes in a handler
  | "duplicate_key"
  | "nested_step"
  | "not_json"
  | "replay_mismatch"
  | "step_timeout"
  // an attempt worked for longer than its tool allows at a stretch
  | "attempt_timeout"
  | "input_timeout"
  | "event_timeout"
  // a sleep, a question or a wait for an event that would end after its task
  | "outlives_task"
  // what authenticate returned as credentials is not in this process
  | "no_credentials"
  // the request that a task came with, or the stream to its client, is not in this process
  | "no_request"
  // the client answered a question with an error
  | "input_failed"
  // a handler goes on although its task has ended, or its caller has left
  | "handler_leaked"
  // tasks that began under a newer version of their tool than this process has
  | "newer_version"
  // an attempt that may no longer write
  | "fenced"
  // the stores of SDK v1's servers: a task has no result to give, or its queue is full
  | "no_result"
  | "queue_full"
  // stores and start
  | "store_locked"
  | "store_unusable"
  // the store does not answer, for now: a full disk, another program that holds the file
  | "store_failed"
  // what is stored of one task is damaged: asking again cannot help, and other tasks are not concerned
  | "task_unreadable"
  | "store_closed"
  // another process took this one for dead, and gives its tasks to others
  | "store_lost"
  | "store_url"
  | "node_too_old"
  | "address_in_use"
  | "configuration";

interface FaultOptions extends ErrorOptions {
  /** JSON-RPC `data` for the wire. */
  readonly data?: unknown;
}

/** The one error class of the project. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly code: FaultCode;
  readonly data: unknown;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, options);
    this.code = code;
    this.data = options.data;
  }
}

/** JSON-RPC numbers; a fault that is not listed is an internal error. */
const jsonRpcNumbers: Partial<Record<FaultCode, number>> = {
  unknown_task: -32602,
  finished: -32602,
  unfinished: -32602,
  invalid_params: -32602,
  invalid_request: -32600,
  method_not_found: -32601,
  idempotency_conflict: -32602,
  wire_id_taken: -32602,
  missing_capability: -32021,
  insufficient_scope: -32600,
  limit_reached: -32000,
  rate_limited: -32000,
  stream_lost: -32000,
};

/** Faults that say how a tool's own work went: uncaught, they are a result with `isError` and not a JSON-RPC error. */
const endsOfWork: ReadonlySet<FaultCode> = new Set([
  "step_timeout",
  "attempt_timeout",
  "event_timeout",
  "input_failed",
  "no_credentials",
  "no_request",
]);

/**
 * Whether `thrown` is a fault of ours that tells of a mistake or of the machinery, and not of how a tool's work went. Never
 * throws, whatever was thrown.
 */
export function isFault(thrown: unknown): thrown is HoldfastError {
  try {
    return thrown instanceof HoldfastError && !endsOfWork.has(thrown.code);
  } catch {
    return false;
  }
}

/** One text for unknown, foreign and expired ids, so that an id's existence does not show. */
export function unknownTask(): HoldfastError {
  return new HoldfastError("unknown_task", "Unknown or expired task");
}

/** Whether `thrown` says that there is no such task, or none of the caller's. */
export function isUnknownTask(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && thrown.code === "unknown_task";
}

/** Whether `thrown` says that what is stored of a task is damaged. */
export function isUnreadable(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && thrown.code === "task_unreadable";
}

/** Whether `thrown` says that the caller has no such task, or not the scopes to see it. */
export function isHidden(thrown: unknown): boolean {
  return isUnknownTask(thrown) || (thrown instanceof HoldfastError && thrown.code === "insufficient_scope");
}

/** What callers are told of a store that fails: what it says itself is for whoever runs the server, and names files. */
export const storeAway = "The task store does not answer now. Try again later.";

/** What callers are told of a task that is damaged, or encrypted with a key that is not here. */
export const taskUnreadable = "The stored data of this task cannot be read.";

/** Whether `thrown` says that the store fails now. */
export function isStoreFault(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && (thrown.code === "store_failed" || thrown.code === "store_lost");
}

/** The JSON-RPC number that stands for a fault on the wire. */
export function jsonRpcCodeOf(code: FaultCode): number {
  return jsonRpcNumbers[code] ?? -32603;
}
