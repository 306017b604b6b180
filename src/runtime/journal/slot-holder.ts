import { HoldfastError } from "../../task/fault.ts";
import { waitReasons, type WaitReason } from "../../task/journal.ts";
import { latestTime } from "../../task/time.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import type { Timers } from "../timers.ts";

/** Begins a wait. */
export type BeginWait<T> = (postpone: (until: number) => void) => Promise<T>;

/**
 * How long a handler may work without a break. Waits do not count, and the time starts again after each. So it does not matter whether the
 * handler stayed in memory meanwhile, or was dropped and runs again.
 */
export interface WorkLimit {
  readonly ms: number;
  readonly timers: Timers;
}

/**
 * One run's claim on a slot. Its handler has a slot while it works, and none while everything in it waits for a client or a timer, on any
 * number of branches. Without `slots` it always has one. While it has one, the time of `limit` runs.
 */
export class SlotHolder {
  readonly #slots: PrincipalSlots | undefined;
  readonly #limit: WorkLimit | undefined;
  readonly #onOver: (error: HoldfastError) => void;
  #cancelLimit: (() => void) | undefined;
  #holds = true;
  #ended = false;
  /** Why it waits, and when each of its waits ends by itself (epoch ms). */
  readonly #waits = new Set<{ readonly reason: WaitReason; until: number }>();
  #works = 0;
  #workEnd: PromiseWithResolvers<void> | undefined;
  /** Steps, questions and sleeps that are about to begin. */
  #beginnings = 0;
  #taking: PromiseWithResolvers<void> | undefined;
  #looks = false;
  /** How many calls wait for the store to answer again. */
  #holdUps = 0;
  #onIdle: () => void = () => undefined;

  /** `onOver` is called when the handler has worked for longer than `limit`. */
  constructor(
    slots: PrincipalSlots | undefined,
    limit?: WorkLimit,
    onOver: (error: HoldfastError) => void = () => undefined,
  ) {
    this.#slots = slots;
    this.#limit = limit;
    this.#onOver = onOver;
    this.#beginLimit();
  }

  get holds(): boolean {
    return this.#holds;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  get waiting(): boolean {
    return this.#waits.size > 0;
  }

  /** When the first of its waits ends by itself (epoch ms); undefined unless everything waits. */
  get idleUntil(): number | undefined {
    if (this.#works > 0 || this.#beginnings > 0 || this.#waits.size === 0) return undefined;
    if (this.#taking !== undefined) return undefined;
    let first = latestTime;
    for (const { until } of this.#waits) first = Math.min(first, until);
    return first;
  }

  /** The first of `waitReasons` that it waits for. */
  get waitsFor(): WaitReason | undefined {
    const reasons = new Set([...this.#waits].map(({ reason }) => reason));
    return (Object.keys(waitReasons) as WaitReason[]).find((reason) => reasons.has(reason));
  }

  /** Called a turn of the event loop after the handler did something, when everything may be waiting. */
  onIdle(listener: () => void): void {
    this.#onIdle = listener;
  }

  /** True while a step runs, or its result is being written to the journal. */
  get working(): boolean {
    return this.#works > 0;
  }

  /** Resolves when no step runs any more. */
  async untilNotWorking(): Promise<void> {
    while (this.#works > 0) {
      this.#workEnd ??= Promise.withResolvers();
      await this.#workEnd.promise;
    }
  }

  /** Something is about to begin, so not everything waits. */
  async whileBeginning<T>(begin: () => Promise<T>): Promise<T> {
    this.#beginnings++;
    try {
      return await begin();
    } finally {
      this.#beginnings--;
      this.giveWhenIdle();
    }
  }

  /** Runs `work`, for which the handler needs its slot. */
  async whileWorking<T>(work: () => Promise<T>): Promise<T> {
    this.#works++;
    try {
      await this.take();
      return await work();
    } finally {
      this.#works--;
      this.#workEnd?.resolve();
      this.#workEnd = undefined;
      this.giveWhenIdle();
    }
  }

  /**
   * Frees the slot during the wait that `begin` begins, until the wait ends by itself, and takes one again when it settles. `begin` gets a
   * function that postpones that end.
   */
  async whileWaiting<T>(reason: WaitReason, begin: BeginWait<T>, until = latestTime): Promise<T> {
    const wait = { reason, until };
    this.#waits.add(wait);
    if (this.#works === 0) this.#give();
    this.giveWhenIdle();
    try {
      return await begin((later) => {
        wait.until = later;
        this.giveWhenIdle();
      });
    } finally {
      await this.take();
      this.#waits.delete(wait);
      this.giveWhenIdle();
    }
  }

  /** Frees the slot for good: what the handler still does needs none. */
  end(): void {
    this.#ended = true;
    this.#taking?.resolve();
    this.#give();
  }

  /** Checks after the handler's next reaction, because only another branch may be left, which waits. */
  giveWhenIdle(): void {
    if (this.#looks || this.idleUntil === undefined) return;
    this.#looks = true;
    setImmediate(() => {
      this.#looks = false;
      if (this.idleUntil === undefined) return;
      this.#give();
      this.#onIdle();
    });
  }

  #give(): void {
    if (!this.#holds) return;
    this.#holds = false;
    this.#endLimit();
    this.#slots?.give();
  }

  /** Resolves when the handler has a slot, or has ended. */
  async take(): Promise<void> {
    if (this.#holds || this.#ended) return;
    if (this.#taking === undefined) {
      this.#taking = Promise.withResolvers();
      void this.#takeOne(this.#taking);
    }
    // Of its own for each slot: what waits for a promise of the whole run stays in memory as long as that.
    await this.#taking.promise;
  }

  async #takeOne({ resolve }: PromiseWithResolvers<void>): Promise<void> {
    await this.#slots?.takeToResume();
    this.#taking = undefined;
    if (this.#ended) {
      this.#slots?.give();
      return;
    }
    this.#holds = true;
    this.#beginLimit();
    resolve();
  }

  /** Our own code delays the handler: that time does not count as work. Returns a function to call when it is over. */
  holdUp(): () => void {
    this.#holdUps++;
    this.#endLimit();
    return () => {
      this.#holdUps--;
      this.#beginLimit();
    };
  }

  #beginLimit(): void {
    if (this.#limit === undefined || !this.#holds || this.#holdUps > 0) return;
    const { ms, timers } = this.#limit;
    this.#cancelLimit ??= timers.after(ms, () => this.#onOver(attemptTimeout(ms)));
  }

  #endLimit(): void {
    this.#cancelLimit?.();
    this.#cancelLimit = undefined;
  }
}

function attemptTimeout(ms: number): HoldfastError {
  return new HoldfastError("attempt_timeout", `The attempt ran for more than ${ms} ms without waiting.`);
}

/** Whether an attempt ended because it worked for too long. */
export function isAttemptTimeout(reason: unknown): reason is HoldfastError {
  return reason instanceof HoldfastError && reason.code === "attempt_timeout";
}
