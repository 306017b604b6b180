/**
 * How a caller left before its answer. `cancelled`: it wants no result. `timed_out`: it waited for as long as it could, and its
 * model may well call again.
 */
export type Departure = "cancelled" | "timed_out";

/**
 * What clients send in `notifications/cancelled` on a timeout: "McpError: MCP error -32001: Request timed out" and "Maximum total timeout
 * exceeded" (the SDKs for TypeScript), "timed out after 30s" (Python), "context deadline exceeded" (Go), "request timeout" (Rust),
 * "TimeoutError: The operation was aborted due to timeout" (AbortSignal.timeout).
 */
const timeIsOver = /tim(?:e|ed|es|ing)[\s_-]?out|deadline exceeded/i;

/** What a person cancels is mostly cancelled sooner than this, and no client times out sooner, in ms. */
const shortestTimeoutMs = 5_000;

/**
 * By the reason of the client's cancel, a text for people. A wrong guess costs little: the task runs on for the grace period, or is
 * cancelled like any task whose caller cancels it.
 */
export function departureByReason(reason: unknown): Departure {
  return typeof reason === "string" && timeIsOver.test(reason) ? "timed_out" : "cancelled";
}

/** By how long the client waited until it closed the stream, which is all that is known since 2026-07-28. */
export function departureAfter(waitedMs: number): Departure {
  return waitedMs > shortestTimeoutMs ? "timed_out" : "cancelled";
}
