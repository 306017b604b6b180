import type { JsonRpcError } from "../../task/outcome.ts";
import type { ClientClock } from "../clock.ts";
import { Failures, type Trouble } from "../task/failures.ts";
import { isFinal, isTransient, isViolation, type Reply, type Unanswered } from "./reply.ts";
import { isJsonObject } from "../../generation/message.ts";

interface RetryOptions {
  /** Whether to retry after this reply; otherwise it is returned. Default: after any that leaves the answer open. */
  readonly mayRepeat?: (reply: Unanswered) => boolean;
  /** Called before each pause. */
  readonly onPause?: (trouble: Trouble, reply: Unanswered) => void;
}

/** Sends a request until it is answered or the signal aborts, with exponential backoff. */
export async function sendWithRetries<Value>(
  send: () => Promise<Reply<Value>>,
  clock: ClientClock,
  signal: AbortSignal,
  { mayRepeat = mayPass, onPause }: RetryOptions = {},
): Promise<Reply<Value>> {
  const failures = new Failures(clock);
  for (;;) {
    const reply = await send();
    if (reply.kind === "value" || !mayRepeat(reply)) return reply;
    const trouble = failures.next(reply);
    onPause?.(trouble, reply);
    await clock.sleep(trouble.retryInMs, signal);
  }
}

/** Whether the same request may be answered later. */
export function mayPass(reply: Unanswered): boolean {
  if (reply.kind === "error") return isTransient(reply.error);
  return !isFinal(reply) && !isViolation(reply);
}

/** The code of a Holdfast server's rate and size limits. */
const limitCode = -32000;

/** Turns an error with `retryAfterMs` into a lost reply, as for HTTP 429. */
export function rateLimitAsLost<Value>(reply: Reply<Value>): Reply<Value> {
  if (reply.kind !== "error" || reply.error.code !== limitCode) return reply;
  const { error } = reply;
  const retryAfterMs = retryAfterIn(error);
  if (retryAfterMs === undefined) return reply;
  return { kind: "lost", notReceived: true, retryAfterMs, message: error.message, cause: undefined, error };
}

/** The pause that an error asks for, in milliseconds: an hour at most; `undefined` if it asks for none. */
export function retryAfterIn({ data }: Pick<JsonRpcError, "data">): number | undefined {
  return isJsonObject(data) ? boundedRetryAfter(data["retryAfterMs"]) : undefined;
}

/** The longest pause that a server can ask for. */
const maxRetryAfterMs = 3_600_000;

/**
 * A pause that a server asks for, in milliseconds: an hour at most; `undefined` for anything that is not a
 * duration.
 */
export function boundedRetryAfter(ms: unknown): number | undefined {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
}

/**
 * The pause that a Retry-After header asks for, in milliseconds: an hour at most; `undefined` if it is missing or
 * invalid.
 */
export function retryAfterHeaderMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return boundedRetryAfter(Math.max(ms, 0));
}
