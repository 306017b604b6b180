import { rpcCodeOf, type ClientEventData } from "../client-events.ts";
import type { ClientClock } from "../clock.ts";
import { replyError, rpcErrorIn, type Unanswered } from "../reply/reply.ts";
import { retryDelay } from "./poll-limits.ts";

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
