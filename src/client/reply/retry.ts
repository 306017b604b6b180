import type { JsonRpcError } from "../../task/outcome.ts";
import type { ClientClock } from "../clock.ts";
import {
  isFinal,
  isTransient,
  isViolation,
  type Reply,
  type Unanswered,
  replyError,
  rpcErrorIn,
} from "./reply.ts";
import { isJsonObject } from "../../generation/message.ts";
import { rpcCodeOf, type ClientEventData } from "../client-events.ts";
import { retryDelay } from "../task/poll-limits.ts";

/** Why a wait gets no answer at the moment. */
export interface Trouble {
  /** What happened last, in a sentence. */
  readonly message: string;
  /** How many tries have failed in a row, from 1. */
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly unreachableMs: number;
  /** Milliseconds until the next try. */
  readonly retryInMs: number;
}

/** What the client's events say of a failure; they are logged, so without the server's own words. */
export function pollFailed(
  taskId: string,
  { failures, retryInMs }: Trouble,
  reply: Unanswered,
): Extract<ClientEventData, { type: "poll_failed" }> {
  return { type: "poll_failed", taskId, failures, ...rpcCodeOf(rpcErrorIn(reply)), retryInMs };
}

/** Tries in a row that got no answer. */
export class Failures {
  readonly #clock: ClientClock;
  #count = 0;
  /** When the first of them was, by the monotonic clock. */
  #since = 0;

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** Counts one more. Its `retryInMs` grows with their number, and is at least what the server asks for. */
  next(reply: Unanswered): Trouble {
    const now = this.#clock.elapsed();
    if (this.#count++ === 0) this.#since = now;
    const retryAfterMs = reply.kind === "lost" ? reply.retryAfterMs : undefined;
    return {
      message: replyError(reply).message,
      failures: this.#count,
      unreachableMs: now - this.#since,
      retryInMs: retryDelay(this.#count, this.#clock.random(), retryAfterMs),
    };
  }

  /** There is an answer again. Returns whether any try had failed. */
  end(): boolean {
    const had = this.#count > 0;
    this.#count = 0;
    return had;
  }
}

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
