/** How long requests are answered before the event loop turns, in ms. A large answer takes longer, and is then the only one. */
const turnMs = 8;

/** How often the event loop turns for each millisecond that was spent on answers: it accepts one connection at a time. */
const turnsPerMs = 2;

/**
 * Begins to answer requests as they arrive, as long as that is quick. When it has taken some milliseconds, what arrives waits until the event
 * loop has turned for a while: probes and connections of others are served meanwhile, and of large answers only a few are in memory.
 */
export class AnswerTurns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** When the first request of this turn was begun; undefined: there was none. */
  #since: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Undefined if a request can be begun now, otherwise a promise that resolves when it can. */
  take(): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#since = this.#now();
      setImmediate(this.#turned);
      return undefined;
    }
    if (this.#waiting.length === 0 && this.#passed < turnMs) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get #passed(): number {
    return this.#now() - (this.#since ?? 0);
  }

  readonly #turned = (): void => {
    if (this.#waiting.length === 0) this.#since = undefined;
    else this.#pause(turnMs);
  };

  #pause(spentMs: number): void {
    let turns = Math.ceil(spentMs * turnsPerMs);
    const turn = (): void => {
      if (--turns > 0) setImmediate(turn);
      else this.#begin(this.#now());
    };
    setImmediate(turn);
  }

  #begin(since: number): void {
    this.#since = since;
    this.#waiting.shift()?.();
    // When it is answered, or waits for the store: only then it is known how long that took.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (this.#waiting.length === 0) setImmediate(this.#turned);
        else if (this.#passed < turnMs) this.#begin(since);
        else this.#pause(this.#passed);
      }),
    );
  }
}
