import type { ClientClock, Deadline } from "../../src/client/clock.ts";

/** One pause of the code under test. */
export interface Nap {
  readonly ms: number;
  /** Moves the clock to the nap's end, and ends it. */
  wake(): void;
}

/**
 * A clock that moves only by naps. By default a nap ends at once; after `hold()` each waits for the test to wake it.
 */
export class FakeClock implements ClientClock {
  /** The lengths of all naps so far, in milliseconds. */
  readonly naps: number[] = [];
  /** What every call of `random` gives: 0 takes the jitter out. */
  chance = 0;
  /** With their lengths. */
  readonly #deadlines = new Map<AbortController, number>();
  readonly #held: Nap[] = [];
  readonly #takers: { readonly fits: (nap: Nap) => boolean; readonly take: (nap: Nap) => void }[] = [];
  #asleep = 0;
  #holds = false;
  #now: number;
  #set = 0;

  constructor(now = Date.UTC(2026, 9, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now + this.#set;
  }

  elapsed(): number {
    return this.#now;
  }

  /** Sets the machine's clock: no time passes by that. */
  set(byMs: number): void {
    this.#set += byMs;
  }

  random(): number {
    return this.chance;
  }

  /** Sleeps and deadlines that are armed now: what would keep a process alive. */
  get armed(): number {
    return this.#asleep + this.#deadlines.size;
  }

  hold(): void {
    this.#holds = true;
  }

  /** Lets all further naps, and those that are held, end at once. */
  release(): void {
    this.#holds = false;
    for (const nap of this.#held.splice(0)) nap.wake();
  }

  /** The next nap, or the next of that length, as soon as the code under test takes it. */
  async nap(ms?: number): Promise<Nap> {
    const fits = (nap: Nap): boolean => ms === undefined || nap.ms === ms;
    const held = this.#held.find(fits);
    if (held !== undefined) {
      this.#held.splice(this.#held.indexOf(held), 1);
      return held;
    }
    return new Promise((take) => {
      this.#takers.push({ fits, take });
    });
  }

  /** Lets every armed deadline pass, or each of that length. */
  passDeadlines(ms?: number): void {
    // A copy: some are armed again as they pass.
    const armed = new Map(this.#deadlines);
    for (const [controller, length] of armed) {
      if (ms !== undefined && ms !== length) continue;
      this.#deadlines.delete(controller);
      controller.abort(new DOMException("too late", "TimeoutError"));
    }
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.naps.push(ms);
    if (!this.#holds) {
      this.#now += ms;
      return;
    }
    this.#asleep++;
    try {
      await this.#heldSleep(ms, signal);
    } finally {
      this.#asleep--;
    }
  }

  deadline(ms: number): Deadline {
    const controller = new AbortController();
    this.#deadlines.set(controller, ms);
    return { signal: controller.signal, clear: () => this.#deadlines.delete(controller) };
  }

  async #heldSleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = this.#now + ms;
    const nap: Nap = {
      ms,
      wake: () => {
        this.#now = Math.max(this.#now, end);
        resolve();
      },
    };
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    const taker = this.#takers.find(({ fits }) => fits(nap));
    if (taker === undefined) this.#held.push(nap);
    else {
      this.#takers.splice(this.#takers.indexOf(taker), 1);
      taker.take(nap);
    }
    try {
      await promise;
    } finally {
      if (this.#held.includes(nap)) this.#held.splice(this.#held.indexOf(nap), 1);
    }
  }
}
