import { TaskClientError, type TaskClientErrorCode } from "../../../client/task-client-error.ts";
import { HoldfastError, type FaultCode } from "../../../task/fault.ts";
import { UsageError } from "../../errors.ts";
import { exitCodeOf, exitCodes, type ExitCode } from "../../exit-code.ts";

/** Why a store or an endpoint did not do what it was asked for, in terms of the exit codes. */
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

/** What a command ends with. */
export function adminFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const kind = kinds[error.code];
  if (kind === undefined) return error;
  return kind === "usage" ? new UsageError(error.message) : new TaskClientError(kind, error.message);
}

/** The exit code of what `adminFailure` returned. */
export function exitCodeOfAdmin(failure: Error): ExitCode {
  if (failure instanceof UsageError) return exitCodes.usage;
  return failure instanceof TaskClientError ? exitCodeOf(failure.code) : exitCodes.fault;
}
