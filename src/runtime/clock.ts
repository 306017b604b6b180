import { randomFillSync, randomUUID } from "node:crypto";

/** Time and randomness as arguments, so that tests control them. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /**
   * Calls `run` once after `ms` milliseconds, of any length; returns a function that cancels it. Keeps the process alive only with `"keep
   * alive"`.
   */
  after(ms: number, run: () => void, keepAlive?: "keep alive"): () => void;
  /**
   * Calls `run` about every `ms` milliseconds, once if several were missed; returns a function that ends it. Does not keep the process
   * alive.
   */
  every(ms: number, run: () => void): () => void;
  randomBytes(size: number): Uint8Array;
  /** A unique name: the token of an attempt. */
  uniqueName(): string;
}

/** Node treats a longer timer as one of a millisecond. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, keepAlive) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      const next = Math.min(left, longestTimerMs);
      timer = setTimeout(() => (left > next ? arm(left - next) : run()), next);
      if (keepAlive === undefined) timer.unref();
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  },
  randomBytes,
  uniqueName: () => randomUUID(),
};

/** Read from the system in advance, since each read is a system call. */
let pool = new Uint8Array();

/** Returns every byte only once. */
function randomBytes(size: number): Uint8Array {
  if (pool.length < size) pool = randomFillSync(new Uint8Array(Math.max(size, 4_096)));
  const bytes = pool.slice(0, size);
  pool.fill(0, 0, size);
  pool = pool.subarray(size);
  return bytes;
}
