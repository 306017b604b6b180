import type { JsonRpcError } from "../task/outcome.ts";
import type { TaskReference } from "./task/remote-task.ts";

/**
 * Why a call or a wait did not end in a result:
 *
 * | code | meaning |
 * |---|---|
 * | `failed` | the task failed; `error` is the JSON-RPC error, exactly as the server stored it |
 * | `cancelled` | the task was cancelled |
 * | `expired` | the task reached its ttl before its end, or the server no longer knows it |
 * | `unknown_task` | the server does not know the task, and this client never saw it |
 * | `rpc` | the server answered a request with a JSON-RPC error, see `error` |
 * | `missing_capability` | the same, for a capability that the client did not declare; `error.data` names it |
 * | `connection` | the server could not be reached, answered with an HTTP error, or its process ended, and repeating the request was not
 * safe or not useful; `resume` on a new connection finds the task |
 * | `unauthorized` | HTTP 401 or 403 |
 * | `protocol` | the server's answer breaks the protocol |
 * | `unanswered` | a question that the server asked before creating a task could not be answered |
 * | `reference` | the value is no task reference, or belongs to another server |
 * | `handles` | the handle store failed, see `cause`: nothing was sent; with a `reference`, the task is running |
 * | `timeout` | the wait took longer than its `timeoutMs`; the task continues |
 * | `aborted` | the `signal` of a call was aborted once it had a task, which continues; its reason is the `cause`, and the error's `name` is `AbortError` |
 * | `closed` | the client was closed; the task continues |
 */
export type TaskClientErrorCode =
  | "failed"
  | "cancelled"
  | "expired"
  | "unknown_task"
  | "rpc"
  | "missing_capability"
  | "connection"
  | "unauthorized"
  | "protocol"
  | "unanswered"
  | "reference"
  | "handles"
  | "timeout"
  | "aborted"
  | "closed";

interface TaskClientErrorOptions extends ErrorOptions {
  readonly taskId?: string | undefined;
  readonly reference?: TaskReference | undefined;
  readonly error?: JsonRpcError | undefined;
}

/**
 * What the client throws; check its `code`. An aborted signal rejects with its own reason instead.
 *
 * ```ts
 * try {
 *   await handle.result();
 * } catch (error) {
 *   if (error instanceof TaskClientError && error.code === "failed") console.error(error.error?.message);
 *   else throw error;
 * }
 * ```
 */
export class TaskClientError extends Error {
  override readonly name: "TaskClientError" | "AbortError";
  readonly code: TaskClientErrorCode;
  /** The task's id, if the error is about a task. */
  readonly taskId: string | undefined;
  /** The same task, for `client.resume`. */
  readonly reference: TaskReference | undefined;
  /** The server's JSON-RPC error: for `failed`, `rpc` and `missing_capability`, and whenever else it sent one. */
  readonly error: JsonRpcError | undefined;

  constructor(code: TaskClientErrorCode, message: string, options: TaskClientErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.name = code === "aborted" ? "AbortError" : "TaskClientError";
    this.reference = options.reference;
    this.taskId = options.reference?.taskId ?? options.taskId;
    this.error = options.error;
  }
}

/** The same error with the task's reference; other errors unchanged. */
export function withReference(error: unknown, reference: TaskReference): unknown {
  if (!(error instanceof TaskClientError) || error.reference !== undefined) return error;
  const { code, message, cause, error: rpcError, stack } = error;
  const copy = new TaskClientError(code, message, { cause, error: rpcError, reference });
  if (stack !== undefined) copy.stack = stack;
  return copy;
}

/** An error's message with that of its innermost cause: the outer message often says only that something failed. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = innermost(error);
  if (inner === error || (inner.message !== "" && error.message.includes(inner.message)))
    return error.message;
  const code = "code" in inner && typeof inner.code === "string" ? inner.code : inner.name;
  return `${error.message} (${inner.message === "" ? code : inner.message})`;
}

/** The innermost cause of an error. */
export function innermost(error: Error): Error {
  const next = causeOf(error);
  return next === undefined ? error : innermost(next);
}

/** The error of this client among the causes: our part of a connection threw it, and the SDK wrapped it. */
export function ownErrorIn(error: unknown): TaskClientError | undefined {
  if (error instanceof TaskClientError) return error;
  return error instanceof Error ? ownErrorIn(causeOf(error)) : undefined;
}

function causeOf(error: Error): Error | undefined {
  const { cause } = error;
  // An SDK error keeps it in its data.
  const data: unknown = "data" in error ? error.data : undefined;
  const kept: unknown = typeof data === "object" && data !== null && "cause" in data ? data.cause : undefined;
  const next = cause ?? kept;
  return next instanceof Error && next !== error ? next : undefined;
}
