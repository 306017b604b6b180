/** Time and chance as the client sees them, passed in, so that tests own both. */
export interface ClientClock {
  /** Epoch milliseconds: for what is told to others. It jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some moment, which go on evenly whatever the machine's clock is set to: for what is waited for. */
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

// setTimeout takes longer delays for 1 ms.
const longestTimer = 2 ** 31 - 1;

/** The machine's own. Its timers keep the process alive: somebody is waiting. */
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
    return { signal: controller.signal, clear: () => timer.abort() };
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
