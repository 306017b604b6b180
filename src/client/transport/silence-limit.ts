import type { ClientClock, Deadline } from "../clock.ts";

/** Aborts its signal once nothing was heard for so long: a long answer that still arrives is not cut off. */
export class SilenceLimit {
  readonly #clock: ClientClock;
  readonly #ms: number;
  readonly #late = new AbortController();
  #deadline: Deadline | undefined;
  #heardAt: number | undefined;

  constructor(clock: ClientClock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.#arm(ms);
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  heard(): void {
    this.#heardAt = this.#clock.elapsed();
  }

  clear(): void {
    this.#deadline?.clear();
  }

  /** One timer for each stretch, not for each part that arrives. */
  #arm(ms: number): void {
    const deadline = this.#clock.deadline(ms);
    this.#deadline = deadline;
    const onLate = (): void => {
      const left = this.#heardAt === undefined ? 0 : this.#heardAt + this.#ms - this.#clock.elapsed();
      if (left > 0) this.#arm(left);
      else this.#late.abort(deadline.signal.reason);
    };
    deadline.signal.addEventListener("abort", onLate, { once: true });
  }
}
