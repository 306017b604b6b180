import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock, Deadline } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { WaitOptions } from "./task-handle.ts";
import type { TaskReference } from "./task-reference.ts";

/** Ends one wait early: by the caller's signal or `timeoutMs`. Clear it when the wait has ended. */
export class WaitLimit {
  /** Undefined if nothing ends the wait early. */
  readonly signal: AbortSignal | undefined;
  /** The task for the timeout error, if it is known. */
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

  /** Aborts also when the client closes. */
  or(closing: AbortSignal): AbortSignal {
    return this.signal === undefined ? closing : AbortSignal.any([this.signal, closing]);
  }

  clear(): void {
    this.#deadline?.clear();
  }

  #error(timeoutMs: number): TaskClientError {
    const { reference } = this;
    return new TaskClientError("timeout", `Timed out after ${timeoutMs} ms`, { reference });
  }
}

/** Throws a RangeError for invalid options. */
export function assertWait({ timeoutMs, pollIntervalMs }: WaitOptions): void {
  assertMs("timeoutMs", timeoutMs);
  assertMs("pollIntervalMs", pollIntervalMs);
}

export function assertMs(name: string, ms: number | undefined): void {
  if (ms !== undefined && !(Number.isFinite(ms) && ms >= 0)) {
    throw new RangeError(`${name} must be a number of at least 0, not ${ms}.`);
  }
}

/** Runs `work` with a signal that aborts by the caller's options, or when the client closes. */
export async function withWaitLimit<Value>(
  options: WaitOptions,
  { clock, background }: { readonly clock: ClientClock; readonly background: BackgroundWork },
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  assertWait(options);
  const limit = new WaitLimit(options, clock);
  try {
    return await work(limit.or(background.closing));
  } finally {
    limit.clear();
  }
}
