import type { QueueLength } from "../../store/queue-length.ts";
import type { TaskStore } from "../../store/store.ts";
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import type { QueueReadings } from "./metrics.ts";

/** How long a reading stays good at least, and at most (ms): whoever collects metrics, and however often, the store is asked no more often. */
const freshMs = { least: 5_000, most: 60_000 };

/** One that took long stays good for so many times as long: no more than a twentieth of the time is to go into that. */
const pause = 20;

/** How long a collection of metrics waits for the store (ms), so that one that hangs keeps nobody from all others. */
const patienceMs = 1_000;

/** Of each tool no more tasks are looked at. */
const mostTasks = 10_000;

export interface QueueReadsSetup {
  readonly store: Pick<TaskStore, "admin">;
  readonly clock: Clock;
}

/** The queues of the store, read for all who want to know at about the same time. */
export class QueueReads {
  readonly #setup: QueueReadsSetup;
  #reading: Promise<readonly QueueLength[]> | undefined;
  #isUnderWay = false;
  #readAt = 0;
  #freshMs = freshMs.least;

  constructor(setup: QueueReadsSetup) {
    this.#setup = setup;
  }

  /** Undefined where the store has no part for operators, fails, or does not answer in time; it is asked again a while later. */
  async read(): Promise<QueueReadings | undefined> {
    const { clock } = this.#setup;
    const age = clock.now() - this.#readAt;
    const isFresh = age >= 0 && age < this.#freshMs; // clocks are set back
    if (this.#reading === undefined || (!this.#isUnderWay && !isFresh)) this.#reading = this.#ask();
    const lengths = await this.#inTime(this.#reading);
    if (lengths === undefined) return undefined;
    const first = Math.min(...lengths.map(({ since }) => since ?? Infinity));
    return { lengths, oldestMs: first === Infinity ? 0 : Math.max(clock.now() - first, 0) };
  }

  async #inTime(reading: Promise<readonly QueueLength[]>): Promise<readonly QueueLength[] | undefined> {
    const deadline = new Deadline(this.#setup.clock, patienceMs);
    const isRead = await deadline.bound(reading);
    deadline.callOff();
    return isRead ? reading : undefined;
  }

  async #ask(): Promise<readonly QueueLength[]> {
    const { store, clock } = this.#setup;
    const begunAt = clock.now();
    this.#isUnderWay = true;
    try {
      return (await store.admin?.queues(mostTasks)) ?? [];
    } finally {
      this.#isUnderWay = false;
      this.#readAt = clock.now();
      this.#freshMs = Math.min(Math.max((this.#readAt - begunAt) * pause, freshMs.least), freshMs.most);
    }
  }
}
