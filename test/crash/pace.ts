import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** From a time to another, both in epoch ms. */
export interface Span {
  readonly since: number;
  readonly until: number;
}

const beatMs = 100;
/** Where things take that many times as long as on a machine with nothing else to do, those that have to be soon are late. */
const slow = 3;

interface Beat {
  readonly at: number;
  /** What the machine had time for until then, in ms. */
  readonly ms: number;
}

/**
 * How fast the machine is for the programs of a test, which others may keep waiting. Deadlines count by it: a second in which six programs want
 * to run on two processors is a third of one, and so is one in which this process did not get to run for most of it. Dispose of it: that ends it.
 */
export class Pace implements Disposable {
  readonly #beats: Beat[] = [{ at: Date.now(), ms: 0 }];
  readonly #timers = new Map<() => void, number>();
  readonly #interval: NodeJS.Timeout;

  /** `wanting` says how many programs want to run now. */
  constructor(wanting: () => number = runnable) {
    this.#interval = setInterval(() => this.#beat(wanting()), beatMs);
  }

  /** What the machine has had time for since the beginning, in ms: at most what has passed. */
  get ms(): number {
    return this.#beats.at(-1)?.ms ?? 0;
  }

  /** Calls `run` when the machine has had so much more time. Returns what takes that back. */
  after(ms: number, run: () => void): () => void {
    this.#timers.set(run, this.ms + ms);
    return () => void this.#timers.delete(run);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Whether what has to be soon may have been late then. */
  readonly wasSlow = ({ since, until }: Span): boolean => {
    const first = this.#beats.findLast(({ at }) => at <= since) ?? this.#beats[0];
    const last = this.#beats.find(({ at }) => at >= until) ?? this.#beats.at(-1);
    if (first === undefined || last === undefined || last.at <= first.at) return false;
    return (last.at - first.at) / (last.ms - first.ms) > slow;
  };

  [Symbol.dispose](): void {
    clearInterval(this.#interval);
  }

  #beat(wanting: number): void {
    const at = Date.now();
    const passed = Math.min(at - (this.#beats.at(-1)?.at ?? at), 2 * beatMs);
    this.#beats.push({ at, ms: this.ms + passed / Math.max(1, wanting / availableParallelism()) });
    for (const [run, due] of this.#timers) {
      if (due > this.ms) continue;
      this.#timers.delete(run);
      run();
    }
  }
}

/** As Linux counts them; elsewhere nobody knows, and only what this process itself feels counts. */
function runnable(): number {
  try {
    return Number(/(\d+)\/\d+/.exec(readFileSync("/proc/loadavg", "utf8"))?.[1] ?? 1);
  } catch {
    return 1;
  }
}
