import { HoldfastError } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

/** Whether parsed JSON is the error object of a JSON-RPC response. */
export function isClientError(value: unknown): value is JsonRpcError {
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value))
    return false;
  return Number.isSafeInteger(value.code) && typeof value.message === "string";
}

/**
 * What a handler's question rejects with where its client answered with an error. It is the question that failed: uncaught,
 * it makes the tool's result one with `isError`, and the client is not told its own error as that of its call.
 */
export function inputFailed(key: string, error: JsonRpcError): HoldfastError {
  return new HoldfastError(
    "input_failed",
    `The client answered the question "${key}" with an error: ${error.message}`,
    { data: error },
  );
}
