import type { ClientClock, Deadline } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { WaitOptions } from "./task-handle.ts";
import type { TaskReference } from "./task-reference.ts";

/** What ends one wait early: its caller's signal, or that its time is up. To be cleared when the wait is over. */
export class WaitLimit {
  /** Left out where nothing ends it early. */
  readonly signal: AbortSignal | undefined;
  /** The task that is waited for, once it is known here; others say it themselves. */
  reference: TaskReference | undefined;
  readonly #deadline: Deadline | undefined;

  constructor({ signal, timeoutMs }: WaitOptions, clock: ClientClock) {
    this.signal = signal;
    if (timeoutMs === undefined) return;
    const deadline = clock.deadline(timeoutMs);
    const late = new AbortController();
    deadline.signal.addEventListener("abort", () => late.abort(this.#error(timeoutMs)), { once: true });
    this.signal = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    this.#deadline = deadline;
  }

  clear(): void {
    this.#deadline?.clear();
  }

  #error(timeoutMs: number): TaskClientError {
    const { reference } = this;
    return new TaskClientError("timeout", `Timed out after ${timeoutMs} ms`, { reference });
  }
}

/** Throws a RangeError for options that no wait can have. */
export function assertWait({ timeoutMs, pollIntervalMs }: WaitOptions): void {
  assertMs("timeoutMs", timeoutMs);
  assertMs("pollIntervalMs", pollIntervalMs);
}

export function assertMs(name: string, ms: number | undefined): void {
  if (ms !== undefined && !(Number.isFinite(ms) && ms >= 0)) {
    throw new RangeError(`${name} has to be a number of at least 0, not ${ms}.`);
  }
}

/** Does what a caller waits for, for as long as they want to wait and the client is open. */
export async function within<Value>(
  options: WaitOptions,
  { clock, closing }: { readonly clock: ClientClock; readonly closing: AbortSignal },
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  assertWait(options);
  const limit = new WaitLimit(options, clock);
  const { signal } = limit;
  try {
    return await work(signal === undefined ? closing : AbortSignal.any([signal, closing]));
  } finally {
    limit.clear();
  }
}
