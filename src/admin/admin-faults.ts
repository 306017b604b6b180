import type { FaultCode } from "../task/fault.ts";

/**
 * The HTTP status of an admin endpoint's refusal, by its code. Any other fault is an internal error, whose details are in the server's log.
 */
const statuses = {
  invalid_params: 400,
  invalid_request: 400,
  unauthenticated: 401,
  insufficient_scope: 403,
  unknown_task: 404,
  method_not_found: 404,
  finished: 409,
  unfinished: 409,
  idempotency_conflict: 409,
  too_large: 413,
  store_refused: 422,
  limit_reached: 429,
  internal: 500,
  task_unreadable: 500,
  configuration: 501,
  store_failed: 503,
  store_closed: 503,
  store_lost: 503,
  stopping: 503,
} as const satisfies Partial<Record<FaultCode, number>>;

/** What an admin endpoint sends when it refuses a request. */
export type AdminFaultCode = keyof typeof statuses;

export function isAdminFault(code: unknown): code is AdminFaultCode {
  return typeof code === "string" && Object.hasOwn(statuses, code);
}

export function adminStatusOf(code: AdminFaultCode): number {
  return statuses[code];
}
