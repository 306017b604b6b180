import { randomFillSync, randomUUID } from "node:crypto";

/** Time and chance, passed in, so that tests own them. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /**
   * Calls `run` once after `ms` milliseconds, however many; returns the way to call it off. Keeps no process alive,
   * unless it is told to.
   */
  after(ms: number, run: () => void, keepAlive?: "keep alive"): () => void;
  /**
   * Calls `run` about every `ms` milliseconds, once where several were missed; returns the way to end it. Keeps no process
   * alive.
   */
  every(ms: number, run: () => void): () => void;
  randomBytes(size: number): Uint8Array;
  /** A name that nobody else has: the token of an attempt. */
  uniqueName(): string;
}

/** Node takes a longer timer for one of a millisecond. */
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

/** Drawn from the system ahead of need: each draw is a call into it. */
let pool = new Uint8Array();

/** Every byte is given out once. */
function randomBytes(size: number): Uint8Array {
  if (pool.length < size) pool = randomFillSync(new Uint8Array(Math.max(size, 4_096)));
  const bytes = pool.slice(0, size);
  pool.fill(0, 0, size);
  pool = pool.subarray(size);
  return bytes;
}
