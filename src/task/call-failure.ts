import type { JsonRpcError, Outcome } from "./outcome.ts";

/** How a call of a tool by a task failed, as the journal of the task has it. */
export type CallFailure =
  /** with a result with `isError`, or with an error */
  | { readonly reason: "failed"; readonly result: unknown }
  | { readonly reason: "failed" | "expired"; readonly error: JsonRpcError }
  | { readonly reason: "cancelled" };

/** What the journal of the calling task gets: exactly one of `value` and `error`, raw JSON. */
export interface CallEnd {
  readonly value: string | null;
  readonly error: string | null;
}

/** Of a task that has ended; null is the outcome of one that was cancelled. The outcome's text stays as it is. */
export function callEndOf(outcome: Outcome | null, expired: boolean): CallEnd {
  if (outcome === null) return { value: null, error: '{"reason":"cancelled"}' };
  const { kind, body } = outcome;
  if (kind === "result") return { value: body, error: null };
  const reason = expired ? "expired" : "failed";
  const member = kind === "error_result" ? "result" : "error";
  return { value: null, error: `{"reason":"${reason}","${member}":${body}}` };
}
