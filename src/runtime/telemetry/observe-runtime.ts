import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Slots } from "../dispatch/slots.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { LeakedHandlers } from "../execution/run-handler.ts";
import type { Services } from "../services.ts";
import type { NodeReports, QueueLength } from "../../store/admin-store.ts";
import { minuteOf } from "../reports/process-counts.ts";
import { readReport } from "../reports/process-report.ts";
import {
  type LoopDelay,
  type ProcessReadings,
  type QueueReadings,
  type WaitingTasks,
  waitsIn,
} from "./metrics.ts";
import type { WaitingDeliveries } from "../../store/outbox.ts";
import type { TaskStore } from "../../store/store.ts";
import { type Clock, Deadline } from "../clock.ts";

export interface ObservedParts {
  readonly slots: Pick<Slots, "used" | "limit">;
  readonly attempts: Pick<Attempts, "active" | "waiting">;
  readonly leaked: Pick<LeakedHandlers, "counts">;
}

/** Lets a runtime's current values be read until the returned function is called. Does nothing if nothing is measured. */
export function observeRuntime(services: Services, { slots, attempts, leaked }: ObservedParts): () => void {
  const { telemetry, clock } = services;
  if (telemetry === undefined) return () => undefined;
  const delays = new LoopDelays();
  const queues = new QueueReads(services);
  const end = telemetry.metrics.observe({
    slots: () => ({ used: slots.used, limit: slots.limit }),
    activeHandlers: () => attempts.active(),
    waitingHandlers: () => attempts.waiting(),
    leakedHandlers: () => leaked.counts,
    permits: () => services.limits.inUse,
    clockOffset: () => clock.offsetMs,
    loopDelay: () => delays.read(),
    queues: () => queues.read(),
  });
  return () => {
    end();
    delays.stop();
  };
}

const nsOfMs = 1e6;

/** Measures the event loop delay from now on until it is stopped. Each reading starts a new measurement. */
export class LoopDelays {
  readonly #histogram = monitorEventLoopDelay();

  constructor() {
    this.#histogram.enable();
  }

  read(): LoopDelay | undefined {
    const histogram = this.#histogram;
    if (histogram.count === 0) return undefined;
    const ms = (ns: number): number => ns / nsOfMs;
    const delay = {
      min: ms(histogram.min),
      max: ms(histogram.max),
      mean: ms(histogram.mean),
      p50: ms(histogram.percentile(50)),
      p90: ms(histogram.percentile(90)),
      p99: ms(histogram.percentile(99)),
    };
    histogram.reset();
    return delay;
  }

  stop(): void {
    this.#histogram.disable();
  }
}

/** The shortest and the longest time for which a reading is reused (ms), however often metrics are collected. */
const freshMs = { least: 5_000, most: 60_000 };

/** A slow reading is reused for this many times its duration, so that at most a twentieth of the time is spent on readings. */
const pause = 20;

/** How long a collection of metrics waits for the store (ms), so that a hanging store does not block all other metrics. */
const patienceMs = 1_000;

/** Maximum number of tasks read per tool. */
const mostTasks = 10_000;

export interface QueueReadsSetup {
  readonly store: Pick<TaskStore, "admin" | "outbox" | "reports">;
  readonly clock: Clock;
}

/** What is read together: the queues, what tasks wait for, and the messages of webhooks. */
interface StoreNumbers {
  readonly lengths: readonly QueueLength[];
  readonly waits: readonly WaitingTasks[];
  readonly hooks: readonly WaitingDeliveries[];
  readonly processes: ProcessReadings | undefined;
}

/** The queues of the store, read once for all callers at about the same time. */
export class QueueReads {
  readonly #setup: QueueReadsSetup;
  #reading: Promise<StoreNumbers> | undefined;
  #isUnderWay = false;
  #readAt = 0;
  #freshMs = freshMs.least;

  constructor(setup: QueueReadsSetup) {
    this.#setup = setup;
  }

  /** Undefined if the store has no part for operators, fails, or does not answer in time. It is asked again later. */
  async read(): Promise<QueueReadings | undefined> {
    const { clock } = this.#setup;
    const isFresh = clock.elapsed() - this.#readAt < this.#freshMs;
    if (this.#reading === undefined || (!this.#isUnderWay && !isFresh)) this.#reading = this.#ask();
    const numbers = await this.#inTime(this.#reading);
    if (numbers === undefined) return undefined;
    const { lengths, waits, hooks, processes } = numbers;
    const first = Math.min(...lengths.map(({ since }) => since ?? Infinity));
    const ageOf = (since: number): number => (since === Infinity ? 0 : Math.max(clock.now() - since, 0));
    const webhooks = hooks.map(({ oldestAt, ...counts }) => ({
      ...counts,
      oldestMs: ageOf(oldestAt ?? Infinity),
    }));
    return { lengths, oldestMs: ageOf(first), waits, webhooks, processes };
  }

  async #inTime(reading: Promise<StoreNumbers>): Promise<StoreNumbers | undefined> {
    const deadline = new Deadline(this.#setup.clock, patienceMs);
    const isRead = await deadline.bound(reading);
    deadline.cancelTimer();
    return isRead ? reading : undefined;
  }

  async #ask(): Promise<StoreNumbers> {
    const { store, clock } = this.#setup;
    const begunAt = clock.elapsed();
    this.#isUnderWay = true;
    try {
      const { admin, outbox, reports } = store;
      const [lengths, waits, hooks, processes] = await Promise.all([
        admin?.queues(mostTasks) ?? [],
        admin === undefined ? [] : waitsIn(admin, mostTasks),
        outbox?.counts(mostTasks) ?? [],
        reports && lossesIn(reports, clock.now()),
      ]);
      return { lengths, waits, hooks, processes };
    } finally {
      this.#isUnderWay = false;
      this.#readAt = clock.elapsed();
      this.#freshMs = Math.min(Math.max((this.#readAt - begunAt) * pause, freshMs.least), freshMs.most);
    }
  }
}

/** How far back processes are counted (minutes), and the most reports that are read for that. */
const lossMinutes = 15;
const mostReports = 10_000;

/** From the reports of all processes: one that dies over and over counts nothing for long. */
async function lossesIn(reports: NodeReports, now: number): Promise<ProcessReadings> {
  const last = minuteOf(now);
  const from = now - lossMinutes * 60_000;
  const started = new Set<string>();
  let [lost, lostAttempts] = [0, 0];
  for (const { owner, body } of await reports.between(last - lossMinutes + 1, last, mostReports)) {
    const report = readReport(body);
    if (report === undefined) continue;
    if (report.startedAt >= from && report.roles.length > 0) started.add(owner);
    lost += report.lost?.owners ?? 0;
    lostAttempts += report.lost?.attempts ?? 0;
  }
  return { started: started.size, lost, lostAttempts };
}
