import { setTimeout as pause } from "node:timers/promises";
import type { ClientClock, Deadline } from "../client/clock.ts";
import type { FakeClock } from "./fake-clock.ts";

/** How much faster than real time the client's pauses pass. */
const speed = 50;

/** In ms of real time. Longer sleeps check the time and sleep again. */
const longestPauseMs = 60_000;

/**
 * The clock of a test's client. Its time limits use the test's clock. Its pauses, between polls and before retries, pass by themselves
 * and fast, so no test has to move a clock to let its client poll.
 */
export class PatientClock implements ClientClock {
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  elapsed(): number {
    return Math.trunc(performance.now() * speed);
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await pause(Math.min(ms / speed, longestPauseMs), undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }

  deadline(ms: number): Deadline {
    const controller = new AbortController();
    const late = (): void => controller.abort(new DOMException("No answer in time", "TimeoutError"));
    return { signal: controller.signal, clear: this.#clock.after(ms, late) };
  }

  /** The middle value, so that each test has the same pauses. */
  random(): number {
    return 0.5;
  }
}
