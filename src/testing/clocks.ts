/** The clocks of a test: the test moves one time for the server and its processes, while the client polls by itself. */

import { randomBytes, randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import assert from "node:assert/strict";
import { type Clock, systemClock } from "../runtime/clock.ts";
import type { ClientClock, Deadline } from "../client/clock.ts";
import type { CommittedTasks } from "./committed-tasks.ts";
import type { TaskRecord } from "../task/record.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

interface Interval {
  readonly ms: number;
  readonly run: () => void;
  /** When it was set, or ran last, by the time that has passed. */
  since: number;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  /** What the clock showed when nothing had elapsed. */
  #zero: number;
  /** How long the machine has run, which is what timers wait for. */
  #running = 0;
  #suspended = 0;
  readonly #timers = new Set<Timer>();
  readonly #intervals = new Set<Interval>();
  readonly #settled: () => Promise<void>;

  /** `settled` resolves when running code can do no more without time passing. */
  constructor(now = Date.UTC(2026, 0, 1), settled = rest) {
    this.#zero = now;
    this.#settled = settled;
  }

  now(): number {
    return this.#zero + this.elapsed();
  }

  elapsed(): number {
    return this.#running + this.#suspended;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#running + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  every(ms: number, run: () => void): () => void {
    const interval = { ms, run, since: this.#running };
    this.#intervals.add(interval);
    return () => this.#intervals.delete(interval);
  }

  randomBytes(size: number): Uint8Array {
    return randomBytes(size);
  }

  uniqueName(): string {
    return randomUUID();
  }

  /** Shows another time from now on, as a clock that is set does: no time passes by that. */
  jump(ms: number): void {
    this.#zero += ms;
  }

  /** Time passes, but not for the timers, as on a machine that is suspended. */
  suspend(ms: number): void {
    this.#suspended += ms;
  }

  get armed(): number {
    return this.#timers.size + this.#intervals.size;
  }

  /** Moves time forward, timer by timer, and lets what each one started settle. */
  async advance(ms: number): Promise<void> {
    await this.#settled(); // running code may still set a timer
    const end = this.#running + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      const [next] = due;
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#running = Math.max(this.#running, next.at);
      next.run();
      await this.#settled();
    }
    this.#running = end;
    await this.#settled();
    for (const interval of this.#intervals) {
      if (this.#running - interval.since < interval.ms) continue;
      interval.since = this.#running;
      interval.run();
    }
    await this.#settled();
  }
}

/** Lets all code run that needs no time to pass. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

/** The clock of one process, whose timers end with it. */
export class ProcessClock implements Clock {
  /** It misses nothing, so that a year takes no more looks than a day. */
  readonly longestTimerMs = Infinity;
  readonly #clock: FakeClock;
  readonly #timers = new Set<() => void>();
  #ended = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  elapsed(): number {
    return this.#clock.elapsed();
  }

  after(ms: number, run: () => void, keepAlive?: "keep alive"): () => void {
    // Only an orderly stop keeps its process alive. It waits for handlers, and the test does not move time meanwhile.
    if (keepAlive !== undefined) return systemClock.after(ms, run, keepAlive);
    return this.#kept((ended) => {
      const over = (): void => {
        ended();
        run();
      };
      if (ms > 0) return this.#clock.after(ms, over);
      const now = setImmediate(over); // due timers take no time
      return () => clearImmediate(now);
    });
  }

  every(ms: number, run: () => void): () => void {
    return this.#kept(() => this.#clock.every(ms, run));
  }

  randomBytes(size: number): Uint8Array {
    return this.#clock.randomBytes(size);
  }

  uniqueName(): string {
    return this.#clock.uniqueName();
  }

  /** The process is gone: none of its timers fire any more. */
  end(): void {
    this.#ended = true;
    for (const cancelTimer of this.#timers) cancelTimer();
    this.#timers.clear();
  }

  #kept(arm: (ended: () => void) => () => void): () => void {
    if (this.#ended) return () => undefined;
    const disarm = arm(() => this.#timers.delete(cancelTimer));
    const cancelTimer = (): void => {
      disarm();
      this.#timers.delete(cancelTimer);
    };
    this.#timers.add(cancelTimer);
    return cancelTimer;
  }
}

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

/** How often to check whether anything moves, in ms of real time. */
const lookMs = 50;

interface IdleDetectorOptions {
  readonly committed: CommittedTasks;
  readonly now: () => number;
  /** Whether questions of this key are answered as soon as they are asked. */
  readonly isAnswered: (key: string) => boolean;
  /** How long running code may take before time moves anyway, in ms of real time. */
  readonly settleMs: number;
  /** How long nothing may move before a wait gives up, in ms of real time. */
  readonly patienceMs: number;
}

/** Detects whether any handler works, or all of them wait for time or the test. */
export class IdleDetector {
  readonly #options: IdleDetectorOptions;

  constructor(options: IdleDetectorOptions) {
    this.#options = options;
  }

  /** Resolves when no handler works or is about to be answered. */
  async settled(): Promise<void> {
    const giveUpAt = performance.now() + this.#options.settleMs;
    for (;;) {
      await rest();
      if (!(this.#isWorking || this.#isAnswered) || performance.now() >= giveUpAt) return;
      await pause(1);
    }
  }

  /**
   * Settles like `wanted`. If nothing moves for long, rejects with an `AssertionError` with the text of `problem`; and as soon as `failure`
   * has a text, with that.
   */
  async unlessStuck<T>(
    wanted: Promise<T>,
    problem: () => string | undefined,
    failure: () => string | undefined = () => undefined,
  ): Promise<T> {
    const over = new AbortController();
    try {
      return await Promise.race([wanted, this.#stuck(problem, failure, over.signal)]);
    } finally {
      over.abort();
    }
  }

  async #stuck(
    problem: () => string | undefined,
    failure: () => string | undefined,
    signal: AbortSignal,
  ): Promise<never> {
    let changes = this.#changes;
    for (let stillMs = 0; ; stillMs += lookMs) {
      await pause(lookMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return new Promise<never>(() => undefined);
      const failed = failure();
      if (failed !== undefined) assert.fail(failed);
      if (this.#isWorking || changes !== this.#changes) stillMs = 0;
      changes = this.#changes;
      if (stillMs < this.#options.patienceMs) continue;
      const message = problem();
      if (message !== undefined) assert.fail(message);
    }
  }

  /** Whether the client is about to answer a question: time moves only after that. */
  get #isAnswered(): boolean {
    const { committed, isAnswered } = this.#options;
    if (!committed.hasProcess) return false;
    return this.#records.some(
      ({ id, openInputs }) => openInputs > 0 && committed.openInputs(id).some(({ key }) => isAnswered(key)),
    );
  }

  get #records(): readonly TaskRecord[] {
    return this.#options.committed.records();
  }

  get #isWorking(): boolean {
    const { committed } = this.#options;
    return this.#records.some((record) => !record.waiting && committed.isServed(record));
  }

  /** Grows with each change of a task, and with time. */
  get #changes(): number {
    return this.#records.reduce((changes, { version }) => changes + version, this.#options.now());
  }
}
