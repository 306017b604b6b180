/** A JSON-RPC error object, as it stands on the wire. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * What the request would have answered. `body` is the raw JSON text of the result or of the error object, so that
 * every replay is the same, byte for byte. Never parsed and rewritten in a store.
 */
export interface Outcome {
  readonly kind: "result" | "error";
  readonly body: string;
}

export function resultOutcome(result: object): Outcome {
  return { kind: "result", body: JSON.stringify(result) };
}

export function errorOutcome(error: JsonRpcError): Outcome {
  return { kind: "error", body: JSON.stringify(error) };
}
