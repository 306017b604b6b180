/** Every error code. Messages are for people and may change, so compare codes in your code. */
export type FaultCode =
  | "unknown_task"
  // the task has ended, and the request needs one that has not
  | "finished"
  // the task has not ended, and the request needs one that has
  | "unfinished"
  | "invalid_params"
  | "invalid_request"
  | "method_not_found"
  | "idempotency_conflict"
  // the id that the requestor chose belongs to another task
  | "wire_id_taken"
  | "missing_capability"
  // the requestor's token lacks scopes; `data.requiredScopes` names all that are needed
  | "insufficient_scope"
  // an admin endpoint could not authenticate the caller
  | "unauthenticated"
  // over a limit; if a retry makes sense, `data.retryAfterMs` says when
  | "limit_reached"
  // too many requests, or the process is overloaded; `data.retryAfterMs` says when to retry
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
  // the thread of a step ended before its function did
  | "worker_crashed"
  // a step failed after its handler had returned, or a step, call or artifact did not come about before: the handler did not wait for it
  | "step_not_awaited"
  // an attempt worked longer without a break than its tool's `timeoutMs` allows
  | "attempt_timeout"
  | "input_timeout"
  | "event_timeout"
  // what `task.poll` looks for did not come within its `timeoutMs`
  | "poll_timeout"
  // a sleep, a question, a poll or a wait for an event would end after its task
  | "outlives_task"
  // the credentials that `authenticate` returned are not in this process
  | "no_credentials"
  // the request that created a task, or the stream to its client, is not in this process
  | "no_request"
  // the client answered a question with an error
  | "input_failed"
  // a handler keeps running although its task has ended, or its caller has left
  | "handler_leaked"
  // tasks began under a newer version of their tool than this process has
  | "newer_version"
  // the attempt may no longer write
  | "fenced"
  // stores for SDK v1 servers: a task has no result, or its queue is full
  | "no_result"
  | "queue_full"
  // stores and start
  | "store_locked"
  | "store_unusable"
  // the store does not answer now: for example a full disk, or another program locks the file
  | "store_failed"
  // the store takes this write never, for what it contains: a retry cannot help, and other writes are not affected
  | "store_refused"
  // the stored data of one task is damaged: a retry cannot help, and other tasks are not affected
  | "task_unreadable"
  | "store_closed"
  // for good: others took over the tasks of this process, or its writer has ended
  | "store_lost"
  | "store_url"
  | "node_too_old"
  | "address_in_use"
  | "configuration";

interface FaultOptions extends ErrorOptions {
  /** JSON-RPC `data`. */
  readonly data?: unknown;
}

/** The error class of Holdfast. `code` says what went wrong. */
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

/** JSON-RPC numbers. A fault that is not listed is an internal error. */
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

/** Faults that describe how a tool's own work went: uncaught, they become a result with `isError` and not a JSON-RPC error. */
const endsOfWork: ReadonlySet<FaultCode> = new Set([
  "step_timeout",
  "worker_crashed",
  "attempt_timeout",
  "event_timeout",
  "poll_timeout",
  "input_failed",
  "no_credentials",
  "no_request",
]);

/** Whether `thrown` is one of our faults about a mistake or a broken part, and not about how a tool's work went. Never throws. */
export function isFault(thrown: unknown): thrown is HoldfastError {
  try {
    return thrown instanceof HoldfastError && !endsOfWork.has(thrown.code);
  } catch {
    return false;
  }
}

/** One text for unknown, foreign and expired ids, so that it does not reveal whether an id exists. */
export function unknownTask(): HoldfastError {
  return new HoldfastError("unknown_task", "Unknown or expired task");
}

/** For what is larger than an option of the server allows, which the message names. */
export function tooLarge(what: string, mostBytes: number, option = "maxBodyBytes"): HoldfastError {
  const message = `${what} is larger than ${mostBytes} bytes, the most that ${option} allows.`;
  return new HoldfastError("too_large", message);
}

/** Whether `thrown` says that the task does not exist, or is not the caller's. */
export function isUnknownTask(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && thrown.code === "unknown_task";
}

/** Whether `thrown` says that a task's stored data is damaged. */
export function isUnreadable(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && thrown.code === "task_unreadable";
}

/** Whether `thrown` says that the caller has no such task, or lacks the scopes to see it. */
export function isHidden(thrown: unknown): boolean {
  return isUnknownTask(thrown) || (thrown instanceof HoldfastError && thrown.code === "insufficient_scope");
}

/** What callers get if the store fails. The store's own message is for the server's operator, and contains file names. */
export const storeUnavailable = "The task store is not answering. Try again later.";

/** What callers get for what the store refuses for good. The store's own message is for the server's operator, and names tables. */
export const storeRefused =
  "The task store cannot take a value of this task: it is too long, out of range, or against a rule of the database.";

/** What callers get for a task that is damaged, or encrypted with a key that is missing here. */
export const taskUnreadable = "The stored data of this task cannot be read.";

/** Whether `thrown` says that the store fails now. */
export function isStoreFault(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && (thrown.code === "store_failed" || thrown.code === "store_lost");
}

/** Whether `thrown` says that the store refuses for good what was to be written. */
export function isStoreRefusal(thrown: unknown): thrown is HoldfastError {
  return thrown instanceof HoldfastError && thrown.code === "store_refused";
}

/** The JSON-RPC number that stands for a fault on the wire. */
export function jsonRpcCodeOf(code: FaultCode): number {
  return jsonRpcNumbers[code] ?? -32603;
}

/** Whether `error` only says that this server is about to stop. */
export function isStopping(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "stopping" || error.code === "store_closed");
}
