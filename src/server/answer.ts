import { completeResult } from "../generation/2026-07-28/complete-result.ts";
import { isJsonObject, type JsonObject } from "../generation/json-object.ts";
import { HoldfastError, jsonRpcCodeOf, type FaultCode } from "../task/fault.ts";
import type { JsonRpcError, Outcome } from "../task/outcome.ts";

/** What a request is answered with on the wire. */
export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/** Hears of faults that their caller is not told about. */
export type OnError = (error: unknown) => void;

/** A tool's outcome as the direct answer to its call. */
export function answerOf({ kind, body }: Outcome): Answer {
  const parsed: unknown = JSON.parse(body);
  if (kind === "error") return { error: parsed as JsonRpcError };
  return { result: isJsonObject(parsed) ? parsed : {} };
}

/** The same in the revision that says of each result whether it is complete: equal to what a task would inline. */
export function completeAnswerOf(outcome: Outcome): Answer {
  const answer = answerOf(outcome);
  return "result" in answer ? { result: completeResult(answer.result) } : answer;
}

/** Internal faults whose text helps the caller and tells nothing about the inside of the server. */
const tellable: ReadonlySet<FaultCode> = new Set(["too_large", "stopping"]);

/** The JSON-RPC error of what a request failed with. */
export type ErrorOf = (thrown: unknown) => JsonRpcError;

/** The missing-capability error as the text of the extension first numbered it. */
export const legacyMissingCapability = -32003;

/** As `errorOfThrown`, with the number that `legacyErrorCodes` asks for. */
export function errorsFor(onError: OnError, legacyErrorCodes: boolean): ErrorOf {
  return (thrown) => {
    const error = errorOfThrown(thrown, onError);
    return legacyErrorCodes && error.code === -32021 ? { ...error, code: legacyMissingCapability } : error;
  };
}

/** The JSON-RPC error for what a request failed with; what callers must not see goes to `onError`. */
function errorOfThrown(thrown: unknown, onError: OnError): JsonRpcError {
  if (thrown instanceof HoldfastError) {
    const code = jsonRpcCodeOf(thrown.code);
    if (code !== -32603 || tellable.has(thrown.code)) {
      return { code, message: thrown.message, ...(thrown.data === undefined ? {} : { data: thrown.data }) };
    }
  }
  onError(thrown);
  return { code: -32603, message: "Internal error" };
}
