import { HoldfastError } from "../../task/fault.ts";
import type { Timers } from "../timers.ts";

export interface WorkLimitSetup {
  readonly ms: number;
  readonly timers: Timers;
}

/**
 * How long a handler may work without a break. Waits do not count, and the time starts again after each. So it does not matter whether the
 * handler stayed in memory meanwhile, or was dropped and runs again.
 */
export class WorkLimit {
  readonly #setup: WorkLimitSetup;
  readonly #onOver: (error: HoldfastError) => void;
  #cancelTimer: (() => void) | undefined;

  constructor(setup: WorkLimitSetup, onOver: (error: HoldfastError) => void) {
    this.#setup = setup;
    this.#onOver = onOver;
  }

  /** The handler begins to work. */
  begin(): void {
    const { ms, timers } = this.#setup;
    this.#cancelTimer ??= timers.after(ms, () => this.#onOver(attemptTimeout(ms)));
  }

  /** Everything waits, or the run is over. */
  end(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}

function attemptTimeout(ms: number): HoldfastError {
  return new HoldfastError("attempt_timeout", `The attempt ran for more than ${ms} ms without waiting.`);
}

/** Whether an attempt ended because it worked for too long. */
export function isAttemptTimeout(reason: unknown): reason is HoldfastError {
  return reason instanceof HoldfastError && reason.code === "attempt_timeout";
}
