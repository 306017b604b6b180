import { TaskClientError, type TaskClientErrorCode } from "../../../client/task-client-error.ts";
import { HoldfastError, type FaultCode } from "../../../task/fault.ts";
import { UsageError } from "../../errors.ts";
import { exitCodeOf, exitCodes, type ExitCode } from "../../exit-code.ts";

/** The error of a store or an endpoint, with the exit code for it. */
const kinds: Readonly<Partial<Record<FaultCode, TaskClientErrorCode | "usage">>> = {
  unknown_task: "unknown_task",
  store_unusable: "connection",
  store_locked: "connection",
  store_failed: "connection",
  store_lost: "connection",
  store_closed: "connection",
  stopping: "connection",
  limit_reached: "connection",
  unauthenticated: "unauthorized",
  insufficient_scope: "unauthorized",
  internal: "rpc",
  store_url: "usage",
  configuration: "usage",
  address_in_use: "usage",
  node_too_old: "usage",
  task_unreadable: "usage",
  invalid_params: "usage",
  invalid_request: "usage",
  too_large: "usage",
  method_not_found: "usage",
  idempotency_conflict: "usage",
  finished: "usage",
  unfinished: "usage",
};

/** How a command ends. */
export function adminFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const kind = kinds[error.code];
  if (kind === undefined) return error;
  const { message } = error;
  return kind === "usage"
    ? new UsageError(message, { cause: error })
    : new TaskClientError(kind, message, { cause: error });
}

/** The exit code of an error from `adminFailure`. */
export function exitCodeOfAdmin(failure: Error): ExitCode {
  if (failure instanceof UsageError) return exitCodes.usage;
  return failure instanceof TaskClientError ? exitCodeOf(failure.code) : exitCodes.fault;
}
