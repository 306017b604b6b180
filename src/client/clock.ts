import { base64url } from "../generation/base64.ts";

/** The client's source of time and randomness; tests pass in their own. */
export interface ClientClock {
  /** Epoch milliseconds, for timestamps. Jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds of a monotonic clock, for durations. */
  elapsed(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as that aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A signal that aborts after `ms` milliseconds, unless it is cleared first. */
  deadline(ms: number): Deadline;
  /** At least 0, less than 1. */
  random(): number;
}

export interface Deadline {
  readonly signal: AbortSignal;
  clear(): void;
}

/**
 * Why the client itself ends what nobody waits for any more. Nobody sees it. `abort()` without a reason makes an exception with a stack each
 * time, which was a twentieth of the processor time of short calls.
 */
export const noLongerNeeded = new Error("Nobody waits for it any more");

// setTimeout treats longer delays as 1 ms.
const longestTimer = 2 ** 31 - 1;

/** The machine's clock. Its timers keep the process alive, since a caller waits for them. */
export const systemClock: ClientClock = {
  now: () => Date.now(),
  elapsed: () => Math.trunc(performance.now()),
  async sleep(ms, signal) {
    for (let left = ms; left > 0; left -= longestTimer) await oneTimer(Math.min(left, longestTimer), signal);
    signal.throwIfAborted();
  },
  deadline(ms) {
    const controller = new AbortController();
    const timer = new AbortController();
    systemClock.sleep(ms, timer.signal).then(
      () => controller.abort(new DOMException("No answer in time", "TimeoutError")),
      () => undefined,
    );
    return { signal: controller.signal, clear: () => timer.abort(noLongerNeeded) };
  },
  random: () => Math.random(),
};

async function oneTimer(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Eight random characters. Unlike `crypto.randomUUID`, pages without TLS have them too. */
export function randomName(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(6)));
}
