import type { ClientClock } from "../clock.ts";
import { jittered } from "./pacing.ts";

/**
 * What keeps one task from being polled too often, besides the server's own interval: what those who wait for it ask
 * for, and a Retry-After, which is kept whoever comes and goes.
 */
export class Pace {
  /** Called when a poll may be due sooner or later than it was. */
  onChange = (): void => undefined;
  readonly #clock: ClientClock;
  /** Of everybody who waits now. */
  readonly #intervals = new Set<{ readonly ms: number }>();
  #notBefore = -Infinity;

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** When the server may be asked again, by the time that has elapsed here. */
  get notBefore(): number {
    return this.#notBefore;
  }

  /** Milliseconds between polls that everybody who waits is content with: whoever wants to know soonest decides. */
  get callersMs(): number {
    if (this.#intervals.size === 0) return 0;
    return Math.min(...[...this.#intervals].map(({ ms }) => ms));
  }

  /** Takes in somebody who waits; returns the way out. */
  join(intervalMs = 0): () => void {
    const interval = { ms: intervalMs };
    const before = this.callersMs;
    this.#intervals.add(interval);
    if (this.callersMs !== before) this.onChange();
    return () => {
      const last = this.callersMs;
      this.#intervals.delete(interval);
      if (this.#intervals.size > 0 && this.callersMs !== last) this.onChange();
    };
  }

  /** The server wants to be left alone for so long; up to a tenth longer, so that not all come back at once. */
  rest(retryAfterMs: number): void {
    const until = this.#clock.elapsed() + jittered(retryAfterMs, this.#clock.random());
    this.#notBefore = Math.max(this.#notBefore, until);
  }
}
