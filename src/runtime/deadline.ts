import type { Clock } from "./clock.ts";

/** A time limit for a stop. Keeps the process alive until it is cancelled. */
export class Deadline {
  /** Resolves at the deadline. */
  readonly passed: Promise<void>;
  readonly cancelTimer: () => void;

  constructor(clock: Clock, ms: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.passed = promise;
    this.cancelTimer = clock.after(ms, resolve, "keep alive");
  }

  /** Resolves with true once `work` has fulfilled, and with false once it has rejected or the deadline has passed. */
  bound(work: Promise<unknown>): Promise<boolean> {
    const done = work.then(
      () => true,
      () => false,
    );
    return Promise.race([done, this.passed.then(() => false)]);
  }
}
