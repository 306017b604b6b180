import { shown } from "../../options/options.ts";
import { millisecondsOf, type TimeSpan } from "../../task/time.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock, Deadline } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { Trouble } from "./failures.ts";
import type { WaitOptions } from "./task-handle.ts";
import type { TaskReference } from "./remote-task.ts";

/** Ends one wait early: by the caller's signal or `timeoutMs`. Clear it when the wait has ended. */
export class WaitLimit {
  /** Undefined if nothing ends the wait early. */
  readonly signal: AbortSignal | undefined;
  /** The task for the timeout error, if it is known. */
  reference: TaskReference | undefined;
  /** Called with each failure to get an answer. */
  readonly onTrouble: (trouble: Trouble | null) => void;
  readonly #deadline: Deadline | undefined;

  constructor({ signal, onTrouble, ...given }: WaitOptions, clock: ClientClock) {
    const timeoutMs = readMs("timeoutMs", given.timeoutMs);
    const unreachableTimeoutMs = readMs("unreachableTimeoutMs", given.unreachableTimeoutMs);
    this.signal = signal;
    const over =
      timeoutMs === undefined && unreachableTimeoutMs === undefined ? undefined : new AbortController();
    const tellTrouble = (trouble: Trouble | null): void => {
      onTrouble?.(trouble);
      if (trouble === null || trouble.unreachableMs < (unreachableTimeoutMs ?? Infinity)) return;
      const message = `The server gave no valid answer for ${unreachableTimeoutMs} ms: ${trouble.message}`;
      over?.abort(new TaskClientError("connection", message, { reference: this.reference }));
    };
    this.onTrouble = tellTrouble;
    if (over === undefined) return;
    this.signal = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    if (timeoutMs === undefined) return;
    const deadline = clock.deadline(timeoutMs);
    deadline.signal.addEventListener("abort", () => over.abort(this.#error(timeoutMs)), { once: true });
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
export function assertWait({ timeoutMs, pollIntervalMs, unreachableTimeoutMs }: WaitOptions): void {
  readMs("timeoutMs", timeoutMs);
  readMs("unreachableTimeoutMs", unreachableTimeoutMs);
  readMs("pollIntervalMs", pollIntervalMs);
}

/** An option in milliseconds. Throws a RangeError for one that is no length of time. */
export function readMs<Given extends TimeSpan | undefined>(
  name: string,
  given: Given,
): number | Extract<Given, undefined> {
  try {
    return given === undefined ? (given as Extract<Given, undefined>) : millisecondsOf(given);
  } catch {
    throw new RangeError(
      `${name} must be a number of milliseconds of at least 0, or a length of time such as "90s", "15m" or "3d", not ${shown(given)}.`,
    );
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
