import type { JsonRpcError, Outcome } from "./outcome.ts";

/** How a tool call by a task failed, as stored in the task's journal. */
export type CallFailure =
  /** with a result with `isError`, or with an error */
  | { readonly reason: "failed"; readonly result: unknown }
  | { readonly reason: "failed" | "expired"; readonly error: JsonRpcError }
  | { readonly reason: "cancelled" };

/** What the calling task's journal stores: exactly one of `value` and `error`, raw JSON. */
export interface CallEnd {
  readonly value: string | null;
  readonly error: string | null;
}

/** The end of a call, from its task. A null outcome means that it was cancelled. The outcome's text stays unchanged. */
export function callEndOf(outcome: Outcome | null, expired: boolean): CallEnd {
  if (outcome === null) return { value: null, error: '{"reason":"cancelled"}' };
  const { kind, body } = outcome;
  if (kind === "result") return { value: body, error: null };
  const reason = expired ? "expired" : "failed";
  const member = kind === "error_result" ? "result" : "error";
  return { value: null, error: `{"reason":"${reason}","${member}":${body}}` };
}
