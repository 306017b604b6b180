import { randomBytes, randomUUID } from "node:crypto";

/** Time and chance, passed in, so that tests own them. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `run` once after `ms` milliseconds; returns the way to call it off. Keeps no process alive. */
  after(ms: number, run: () => void): () => void;
  randomBytes(size: number): Uint8Array;
  /** A name that nobody else has: the token of an attempt. */
  uniqueName(): string;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
  randomBytes: (size) => randomBytes(size),
  uniqueName: () => randomUUID(),
};
