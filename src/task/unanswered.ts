import { HoldfastError } from "./fault.ts";
import type { JsonRpcError } from "./outcome.ts";

// Requests that a server leaves without an answer, because it stops, or because it is not the process that received them.
// - The error says so in its data, so that it is not taken for the answer: the same request, sent again, comes to a process that answers.
// - It says whether anything of the request may have been done. `begun: false` is said only where nothing was: then any request may be
//   sent again, and otherwise only one that may arrive twice.

const begunMember = "holdfast/begun";

/** When to send such a request again, in ms. A process starts in less, and who comes too early waits longer. */
const retryAfterMs = 1_000;

/** The seconds of this pause, for HTTP. */
export const retryAfterSeconds = String(retryAfterMs / 1_000);

/** The data of such an error. */
export function unanswered(begun: boolean) {
  return { retryAfterMs, [begunMember]: begun };
}

/** Whether a request may have been begun that this error leaves without an answer; undefined for an error that is the answer. */
export function begunDespite({ data }: Pick<JsonRpcError, "data">): boolean | undefined {
  const begun: unknown =
    typeof data === "object" && data !== null ? Reflect.get(data, begunMember) : undefined;
  return typeof begun === "boolean" ? begun : undefined;
}

export const stoppingText = "The server is stopping.";

/** The fault of a request that comes to a stopping server. */
export function stopping(): HoldfastError {
  return new HoldfastError("stopping", stoppingText, { data: unanswered(false) });
}

export const cutOffText = "The server stopped before it could answer. It may have done part of the work.";

/** The fault of a request that a stopping server has begun, and does not end. */
export function cutOff(): HoldfastError {
  return new HoldfastError("stopping", cutOffText, { data: unanswered(true) });
}

/** The fault of a request that was sent to another process, of which nothing is known here. */
export function sentElsewhere(): HoldfastError {
  const message =
    "This process did not receive the request, and nothing was stored about it. Send the request again.";
  return new HoldfastError("stream_lost", message, { data: unanswered(true) });
}

/** The fault of a request whose connection broke, and whose client did not come back for the answer in time. */
export function notResumed(): HoldfastError {
  const message =
    "The connection that this request arrived on was lost and not resumed. Send the request again.";
  return new HoldfastError("stream_lost", message, { data: unanswered(true) });
}
