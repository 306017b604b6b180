import type { JsonRpcError } from "../task/outcome.ts";
import type { TaskReference } from "./task/task-reference.ts";

/**
 * Why a call or a wait did not end in a result:
 *
 * | code | meaning |
 * |---|---|
 * | `failed` | the task failed; `error` is the JSON-RPC error, exactly as the server stored it |
 * | `cancelled` | the task was cancelled |
 * | `expired` | the task reached the end of its life unfinished, as a Holdfast server says in `error`; or it outlived its ttl without contact, or the server no longer knows it |
 * | `unknown_task` | the server does not know the task, and this client never saw it |
 * | `rpc` | the server answered a request with a JSON-RPC error, see `error` |
 * | `missing_capability` | the same, for a capability that the client did not declare; `error.data` names it |
 * | `connection` | the server was not reached, or gave an HTTP error, and a repeat was not safe or not useful; or its process, or the pipe to it, has ended: its tasks are taken up by `resume` on a new connection |
 * | `unauthorized` | HTTP 401 or 403 |
 * | `protocol` | the server's answer breaks the protocol |
 * | `unanswered` | a question before the task's creation could not be answered |
 * | `reference` | a task reference does not belong to this client's server or is no reference |
 * | `handles` | the handle store could not keep the call, see `cause`: nothing was sent, or, with a `reference`, its task runs |
 * | `timeout` | the wait took longer than its `timeoutMs`; the task, if there is one, runs on |
 * | `closed` | the client, or its `sdk`, was closed meanwhile; the task lives on |
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
  | "closed";

interface TaskClientErrorOptions extends ErrorOptions {
  readonly taskId?: string | undefined;
  readonly reference?: TaskReference | undefined;
  readonly error?: JsonRpcError | undefined;
}

/**
 * What the client throws, told apart by `code`. An aborted signal is not among them: it rejects with its own reason.
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
  override readonly name = "TaskClientError";
  readonly code: TaskClientErrorCode;
  /** The task that it is about, if there is one. */
  readonly taskId: string | undefined;
  /** The same task, as `client.resume` takes it: what has not ended yet is not lost with the call or wait that has. */
  readonly reference: TaskReference | undefined;
  /** The JSON-RPC error for `failed`, `rpc` and `missing_capability`, and where else a server sent one. */
  readonly error: JsonRpcError | undefined;

  constructor(code: TaskClientErrorCode, message: string, options: TaskClientErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.reference = options.reference;
    this.taskId = options.reference?.taskId ?? options.taskId;
    this.error = options.error;
  }
}
