import type { Clock } from "./clock.ts";

/** A point of time that a stop keeps to, whatever it waits for. Keeps the process alive until it is called off. */
export class Deadline {
  /** Resolves at the deadline. */
  readonly passed: Promise<void>;
  readonly callOff: () => void;

  constructor(clock: Clock, ms: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.passed = promise;
    this.callOff = clock.after(ms, resolve, "keep alive");
  }

  /** Resolves when `work` has settled, and at the deadline if it has not; true where it has come to what it promised. */
  bound(work: Promise<unknown>): Promise<boolean> {
    const done = work.then(
      () => true,
      () => false,
    );
    return Promise.race([done, this.passed.then(() => false)]);
  }
}
