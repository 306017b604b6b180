/** A JSON-RPC error object, as it stands on the wire. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * How a request was answered: by a result, by a result that says of itself that the tool failed (`isError: true`), or by
 * a JSON-RPC error. Which of these is a failure differs between the generations.
 */
export type OutcomeKind = "result" | "error_result" | "error";

/**
 * What the request would have answered. `body` is the raw JSON text of the result or of the error object, so that
 * every replay is the same, byte for byte. Never parsed and rewritten in a store.
 */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly body: string;
}

export function resultOutcome(result: object): Outcome {
  return { kind: kindOfResult(result), body: JSON.stringify(result) };
}

/** The result of a tool that failed, which says why. */
export function errorResult(text: string): Outcome {
  return resultOutcome({ content: [{ type: "text", text }], isError: true });
}

export function kindOfResult(result: object): Extract<OutcomeKind, "result" | "error_result"> {
  return "isError" in result && result.isError === true ? "error_result" : "result";
}

export function errorOutcome(error: JsonRpcError): Outcome {
  return { kind: "error", body: JSON.stringify(error) };
}
