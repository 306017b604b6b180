/**
 * Everything that can go wrong, by name. Messages are for people and may change; code decides by these.
 */
export type FaultCode =
  | "unknown_task"
  | "invalid_params"
  | "idempotency_conflict"
  | "missing_capability"
  | "too_large"
  | "stopping"
  | "internal"
  // mistakes in a handler
  | "duplicate_key"
  | "nested_step"
  | "not_json"
  | "replay_mismatch"
  | "step_timeout"
  | "input_timeout"
  // an attempt that may no longer write
  | "fenced"
  // stores and start
  | "store_locked"
  | "store_unusable"
  | "store_failed"
  | "store_closed"
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
  invalid_params: -32602,
  idempotency_conflict: -32602,
  missing_capability: -32021,
};

/** The JSON-RPC number that stands for a fault on the wire. */
export function jsonRpcCodeOf(code: FaultCode): number {
  return jsonRpcNumbers[code] ?? -32603;
}
