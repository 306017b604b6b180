import { randomFillSync, randomUUID } from "node:crypto";
import { uptime } from "node:os";
import { millisecondsOf, storable, type TimeSpan } from "../task/time.ts";
import { number, readOptions, settingsOf, tableOf, time } from "../options/options.ts";

/**
 * The first whole epoch millisecond by which `ms` milliseconds have passed, or the latest time that stores can hold. They hold no
 * fractions.
 */
export function deadlineAfter(now: number, ms: number): number {
  return storable(Math.ceil(now + ms));
}

/** When a wait ends that begins now (epoch ms). Throws for an invalid length of time, and for an invalid date. */
export function endOf(span: TimeSpan | Date, now: number): number {
  if (!(span instanceof Date)) return deadlineAfter(now, millisecondsOf(span));
  const at = span.getTime();
  if (Number.isNaN(at)) throw new TypeError("The date to wait for is invalid.");
  return at;
}

class DeclaredBackoff {
  /** The first pause. Default 1 second. */
  readonly firstMs?: TimeSpan = time({ min: 0, fractions: true, default: 1_000 });
  /** The factor by which each pause is longer than the one before. Default 2. */
  readonly factor?: number = number({ min: 1, fractions: true, default: 2 });
  /** The longest pause. Default: 1 minute, or `firstMs` if that is longer. */
  readonly maxMs?: TimeSpan = time({ min: 0, fractions: true });
}

/**
 * The pauses between retries, in milliseconds. A random part of each, up to half, is taken off, so that things that failed together do not
 * retry together.
 */
export interface Backoff extends DeclaredBackoff {}

export const backoffOptions = tableOf<Backoff>(DeclaredBackoff);

interface GrowingPause {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs?: number | undefined;
}

const defaultMaxMs = 60_000;

const longestGrownMs = 3_600_000;

/** The pause in ms after that many failures in a row. */
export function retryPause(failures: number, clock: Pick<Clock, "randomBytes">, given: Backoff = {}): number {
  const {
    firstMs,
    factor,
    maxMs = Math.max(firstMs, defaultMaxMs),
  } = settingsOf<Backoff, "maxMs">(backoffOptions, given);
  return growingPause({ firstMs, factor, maxMs }, failures, 0.5, clock);
}

/** The pause in ms after that many others, of which a random part of up to `jitter` is taken off. */
export function growingPause(
  { firstMs, factor, maxMs = Math.max(firstMs, longestGrownMs) }: GrowingPause,
  count: number,
  jitter: number,
  clock: Pick<Clock, "randomBytes">,
): number {
  if (firstMs === 0) return 0;
  const full = Math.min(firstMs * factor ** (count - 1), maxMs);
  const [random = 0, more = 0] = jitter === 0 ? [] : clock.randomBytes(2);
  return Math.round(full * (1 - (jitter * (random * 256 + more)) / 65_536));
}

/** What is wrong with a backoff whose values are each right; undefined if nothing is. */
export function backoffProblem(what: string, given: Backoff): string | undefined {
  const { firstMs = 0, maxMs = firstMs } = readOptions(backoffOptions, given);
  if (maxMs >= firstMs) return undefined;
  return `${what}: maxMs is ${maxMs}, which is less than firstMs (${firstMs})`;
}

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

/**
 * Time, by three rules:
 *
 * 1. A span within one life of a process is measured by `elapsed`, `after` and `every`: setting a clock neither shortens nor lengthens it.
 * 2. A point in time that is stored is made and judged by one clock for all processes on a store, `StoreClock.now`: that of the database if
 *    it has one, as on Postgres, and else that of the machine, as on SQLite, whose processes are all on one machine.
 * 3. What waits for such a point looks again as soon as that clock jumps. A point that ends a span is judged as the jumps since the span
 *    began require (`afterJumps`), so that a process which saw them lets the span last as long as it should. Whatever waits for a time is
 *    woken once after a jump back, since its time may have been stored before. A date that somebody named stays where it is.
 */

/** Time and randomness as arguments, so that tests control them. */
export interface Clock {
  /** Epoch milliseconds. People and time servers set it: two of these are no span. */
  now(): number;
  /**
   * Milliseconds since some point, which nobody sets. Includes the time for which the machine was suspended, from a second after it
   * continues.
   */
  elapsed(): number;
  /**
   * Calls `run` once after `ms` milliseconds, of any length; returns a function that cancels it. Keeps the process alive only with `"keep
   * alive"`. The time for which the machine is suspended does not count.
   */
  after(ms: number, run: () => void, keepAlive?: "keep alive"): () => void;
  /**
   * Calls `run` about every `ms` milliseconds, once if several were missed; returns a function that ends it. Does not keep the process
   * alive.
   */
  every(ms: number, run: () => void): () => void;
  /**
   * How long whoever waits for a point in time may do so before looking again, in case a jump or a suspended machine was not noticed.
   * Left out: everybody has a limit of its own.
   */
  readonly longestTimerMs?: number | undefined;
  randomBytes(size: number): Uint8Array;
  /** A unique name: the token of an attempt. */
  uniqueName(): string;
}

/** How far the machine's clock may be from the store's before operators should know (ms). */
export const toleratedOffsetMs = 5_000;

/** A change of a clock against the passing of time that is no correction of its pace (ms). */
const jumpMs = 1_000;

/** A pause between two looks in which timers may have stood still (ms). */
const gapMs = 5_000;

/** How long after the clock was set ahead what has ended is kept as if it had not been (ms). */
const keptLongerMs = 7 * 86_400_000;

/** How many jumps are told apart: a clock that two servers of time set in turn jumps every second. */
const mostJumps = 64;

/** What a clock showed before it was set, and after (epoch ms). */
interface Jump {
  readonly before: number;
  readonly after: number;
  /** By `elapsed`. */
  readonly at: number;
}

/** The clock of a store, for one process on it. */
export class StoreClock implements Clock {
  readonly #machine: Clock;
  /** The store's time when nothing had elapsed; undefined while the machine's clock is the store's. */
  #zero: number | undefined;
  /** The same, by whichever clock it was, when somebody last asked. */
  #zeroBefore: number | undefined;
  /** By `elapsed`. */
  #lookedAt: number | undefined;
  /** Whether it has jumped since the last look, and by how much it was set back. */
  #jumped = false;
  #setBackMs = 0;
  /** In this life of the process, oldest first. Of more than can be told apart, the oldest two count as one, at the time of the later. */
  readonly #jumps: Jump[] = [];
  readonly #onJump = new Set<(setBackMs: number) => void>();

  constructor(machine: Clock) {
    this.#machine = machine;
  }

  /** The clock itself if it is that of a store already. */
  static of(clock: Clock): StoreClock {
    return clock instanceof StoreClock ? clock : new StoreClock(clock);
  }

  now(): number {
    const at = this.elapsed();
    if (this.#zero !== undefined) return Math.floor(this.#zero + at);
    const now = this.#machine.now();
    this.#follow(now - at, at);
    return now;
  }

  elapsed(): number {
    return this.#machine.elapsed();
  }

  after(ms: number, run: () => void, keepAlive?: "keep alive"): () => void {
    return this.#machine.after(ms, run, keepAlive);
  }

  every(ms: number, run: () => void): () => void {
    return this.#machine.every(ms, run);
  }

  get longestTimerMs(): number | undefined {
    return this.#machine.longestTimerMs;
  }

  randomBytes(size: number): Uint8Array {
    return this.#machine.randomBytes(size);
  }

  uniqueName(): string {
    return this.#machine.uniqueName();
  }

  /** How far the store's clock is ahead of the machine's (ms). */
  get offsetMs(): number {
    return this.#zero === undefined ? 0 : this.now() - this.#machine.now();
  }

  /**
   * When a span ends for which `deadlineAt` was stored (both epoch ms), and which began at `begunAt` by the clock of then: as much later as
   * the clock was set ahead since, in this life of the process, and as much earlier as it was set back. One that begins in the future
   * began before the clock was set back.
   */
  afterJumps(deadlineAt: number, begunAt: number | null): number {
    if (begunAt === null || this.#jumps.length === 0) return deadlineAt;
    let latest = this.now();
    let at = deadlineAt;
    for (const { before, after } of this.#jumps.toReversed()) {
      if (begunAt <= latest && (after < before || begunAt > before)) break;
      at += after - before;
      latest = before;
    }
    return at;
  }

  /** Whether a span may have begun that ends later than was stored, since the clock was set ahead in this life of the process. */
  get wasSetAhead(): boolean {
    let ahead = 0;
    return this.#jumps.toReversed().some(({ before, after }) => (ahead += after - before) > 0);
  }

  /** The last time that it was set ahead in this life of the process. */
  get lastSetAhead(): Pick<Jump, "before" | "after"> | undefined {
    const last = this.#jumps.findLast(({ before, after }) => after > before);
    return last && { before: last.before, after: last.after };
  }

  /** What the clock would show without the jumps since `begunAt` (epoch ms): to judge the end of a span that began then. */
  nowSince(begunAt: number): number {
    return this.now() - this.afterJumps(0, begunAt);
  }

  /** The latest time (epoch ms) that is past for whatever is kept, also if the clock was set ahead lately. */
  get pastForAll(): number {
    const now = this.now();
    const lately = this.elapsed() - keptLongerMs;
    let ahead = 0;
    for (const { before, after, at } of this.#jumps)
      if (at >= lately) ahead = Math.max(0, ahead + after - before);
    return now - ahead;
  }

  /**
   * Calls `listener` after the clock has jumped, either way, or time has passed without the timers; `setBackMs` is by how much it was set
   * back, or 0. Returns a function that ends this.
   */
  onJump(listener: (setBackMs: number) => void): () => void {
    this.#onJump.add(listener);
    return () => this.#onJump.delete(listener);
  }

  /**
   * Call it about once a second. `told` is the time (epoch ms) that the store's own clock had at some moment since `askedAt`, by
   * `elapsed`; undefined if it has none.
   */
  look(told: number | undefined, askedAt: number): void {
    const at = this.elapsed();
    if (told !== undefined) {
      if (this.#zero === undefined) this.#zeroBefore = undefined; // that was another clock
      const known = this.#zero ?? this.#machine.now() - at;
      this.#zero = Math.min(Math.max(known, told - at), told - askedAt);
    }
    this.#follow(this.#zero ?? this.#machine.now() - at, at);
    const slept = at - (this.#lookedAt ?? at) >= gapMs;
    this.#lookedAt = at;
    if (!this.#jumped && !slept) return;
    const setBackMs = this.#setBackMs;
    this.#jumped = false;
    this.#setBackMs = 0;
    for (const listener of this.#onJump) listener(setBackMs);
  }

  /** Notices a jump as soon as anybody asks for the time. */
  #follow(zero: number, at: number): void {
    const jump = zero - (this.#zeroBefore ?? zero);
    this.#zeroBefore = zero;
    if (Math.abs(jump) < jumpMs) return;
    this.#jumped = true;
    // Times are whole, but those that have elapsed are not.
    const [before, after] = [Math.floor(zero - jump + at), Math.floor(zero + at)];
    this.#jumps.push({ before, after, at });
    this.#setBackMs += Math.max(0, before - after);
    const [first, second] = this.#jumps;
    if (first === undefined || second === undefined || this.#jumps.length <= mostJumps) return;
    const merged = { ...second, before: second.before - (first.after - first.before) };
    this.#jumps.splice(0, 2, ...(merged.before === merged.after ? [] : [merged]));
  }
}

/** Node treats a longer timer as one of a millisecond. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed,
  after(ms, run, keepAlive) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      const next = Math.min(left, longestTimerMs);
      timer = setTimeout(() => (left > next ? arm(left - next) : run()), next);
      if (keepAlive === undefined) timer.unref();
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  },
  randomBytes,
  uniqueName: () => randomUUID(),
};

/** The monotonic clock of Node stands still while the machine is suspended; the time since the machine started does not. */
let suspendedMs = 0;
let lookedAt = 0;
let startBefore = 0;
const startedAt = uptime() * 1_000 - performance.now();

/** The time since the start of the machine is rounded to up to a second. */
const shortestSuspensionMs = 2_000;

function elapsed(): number {
  const running = performance.now();
  const zero = Date.now() - running;
  // Else the clock seems to have been set ahead, and soon after that to be set back.
  if (running - lookedAt >= 1_000 || Math.abs(zero - startBefore) >= 1_000) {
    lookedAt = running;
    startBefore = zero;
    const suspended = uptime() * 1_000 - running - startedAt;
    if (suspended >= suspendedMs + shortestSuspensionMs) suspendedMs = suspended;
  }
  return running + suspendedMs;
}

/** Read from the system in advance, since each read is a system call. */
let pool = new Uint8Array();

/** Returns every byte only once. */
function randomBytes(size: number): Uint8Array {
  if (pool.length < size) pool = randomFillSync(new Uint8Array(Math.max(size, 4_096)));
  const bytes = pool.slice(0, size);
  pool.fill(0, 0, size);
  pool = pool.subarray(size);
  return bytes;
}
