/** A JSON-RPC error object, as on the wire. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * How a request was answered: with a result, a result that reports a tool error (`isError: true`), or a JSON-RPC error. The generations
 * differ in which of these count as failures.
 */
export type OutcomeKind = "result" | "error_result" | "error";

/**
 * The answer to the request. `body` is the raw JSON text of the result or the error object, so that every replay is the same, byte for
 * byte. Stores never parse and rewrite it.
 */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly body: string;
}

export function resultOutcome(result: object): Outcome {
  return { kind: kindOfResult(result), body: JSON.stringify(result) };
}

/** The result of a failed tool, with the reason. */
export function errorResult(text: string): Outcome {
  return resultOutcome({ content: [{ type: "text", text }], isError: true });
}

export function kindOfResult(result: object): Extract<OutcomeKind, "result" | "error_result"> {
  return "isError" in result && result.isError === true ? "error_result" : "result";
}

export function errorOutcome(error: JsonRpcError): Outcome {
  return { kind: "error", body: JSON.stringify(error) };
}
