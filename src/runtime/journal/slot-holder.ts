import type { Slots } from "../dispatch/slots.ts";

/**
 * One run's claim on a slot. Its handler has one while it works, and none while all that goes on in it is waiting
 * for a client or a timer, on however many branches. Without `slots` there is always one.
 */
export class SlotHolder {
  readonly #slots: Slots | undefined;
  #holds = true;
  #ended = false;
  readonly #end = Promise.withResolvers<void>();
  #waits = 0;
  #works = 0;
  #taking: Promise<void> | undefined;

  constructor(slots: Slots | undefined) {
    this.#slots = slots;
  }

  get holds(): boolean {
    return this.#holds;
  }

  get waiting(): boolean {
    return this.#waits > 0;
  }

  /** True while a step runs, or its result is on its way into the journal. */
  get working(): boolean {
    return this.#works > 0;
  }

  /** Runs `work`, for which the handler needs its slot. */
  async whileWorking<T>(work: () => Promise<T>): Promise<T> {
    this.#works++;
    try {
      await this.take();
      return await work();
    } finally {
      this.#works--;
      this.giveWhenIdle();
    }
  }

  /** Needs no slot while `wait` lasts, and has one again when it settles. */
  async whileWaiting<T>(wait: Promise<T>): Promise<T> {
    this.#waits++;
    if (this.#works === 0) this.#give();
    try {
      return await wait;
    } finally {
      await this.take();
      this.#waits--;
      this.giveWhenIdle();
    }
  }

  /** The slot is free for good: what the handler still does needs none. */
  end(): void {
    this.#ended = true;
    this.#end.resolve();
    this.#give();
  }

  /** After the handler has done what it does next: another branch may be all that goes on, and it waits. */
  giveWhenIdle(): void {
    if (this.#waits === 0 || this.#works > 0) return;
    setImmediate(() => {
      if (this.#waits > 0 && this.#works === 0) this.#give();
    });
  }

  #give(): void {
    if (!this.#holds) return;
    this.#holds = false;
    this.#slots?.give();
  }

  /** Resolves when the handler has a slot, or has ended. */
  async take(): Promise<void> {
    if (this.#holds || this.#ended) return;
    this.#taking ??= this.#takeOne();
    await Promise.race([this.#taking, this.#end.promise]);
  }

  async #takeOne(): Promise<void> {
    await this.#slots?.takeToResume();
    this.#taking = undefined;
    if (this.#ended) this.#slots?.give();
    else this.#holds = true;
  }
}
