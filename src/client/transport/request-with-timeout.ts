import type { JsonObject } from "../../generation/message.ts";
import type { ClientClock, Deadline } from "../clock.ts";
import { rateLimitAsLost } from "../reply/retry.ts";
import type { Reply } from "../reply/reply.ts";
import type { RawRequestOptions } from "./raw-request.ts";
import type { RawRequester } from "./raw-requester.ts";

/**
 * How long a server may send nothing. Only for requests that it answers at once: a call takes as long as its tool.
 */
const defaultIdleMs = 30_000;

/** How long any answer may take to arrive: what drips for ever is none, such as a page that something on the way keeps open. */
const longestMs = 3_600_000;

/** Sends a request that a server should answer at once. The reply is `lost` when nothing arrives for too long. */
export async function requestWithTimeout(
  { requester, clock }: { readonly requester: RawRequester; readonly clock: ClientClock },
  method: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
  options: Pick<RawRequestOptions, "headers"> = {},
): Promise<Reply<JsonObject>> {
  const limit = new IdleTimeout(clock, defaultIdleMs);
  const either = AbortSignal.any([signal, limit.signal]);
  try {
    const onActivity = (): void => limit.touch();
    return rateLimitAsLost(await requester.request(method, params, either, { ...options, onActivity }));
  } catch (cause) {
    if (signal.aborted || !limit.signal.aborted) throw cause;
    const message = `The server's answer to ${method} did not arrive: nothing came for ${defaultIdleMs / 1000} seconds, or its end did not come within an hour`;
    return { kind: "lost", notReceived: false, retryAfterMs: undefined, message, cause, error: undefined };
  } finally {
    limit.clear();
  }
}

/** Aborts its signal when nothing has arrived for the given time. A long answer that still arrives is cut off only after an hour. */
export class IdleTimeout {
  readonly #clock: ClientClock;
  readonly #ms: number;
  readonly #late = new AbortController();
  #deadline: Deadline | undefined;
  #touchedAt: number | undefined;
  readonly #endsAt: number;

  constructor(clock: ClientClock, ms: number) {
    this.#clock = clock;
    this.#endsAt = clock.elapsed() + longestMs;
    this.#ms = ms;
    this.#arm(ms);
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  touch(): void {
    this.#touchedAt = this.#clock.elapsed();
  }

  clear(): void {
    this.#deadline?.clear();
  }

  /** Starts one timer per period, not per chunk. */
  #arm(ms: number): void {
    const deadline = this.#clock.deadline(ms);
    this.#deadline = deadline;
    const onLate = (): void => {
      const until = Math.min((this.#touchedAt ?? -Infinity) + this.#ms, this.#endsAt);
      const left = until - this.#clock.elapsed();
      if (left > 0) this.#arm(left);
      else this.#late.abort(deadline.signal.reason);
    };
    deadline.signal.addEventListener("abort", onLate, { once: true });
  }
}
