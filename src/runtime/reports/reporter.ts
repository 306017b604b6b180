import { monitorEventLoopDelay } from "node:perf_hooks";
import { hostname } from "node:os";
import type { NodeReports } from "../../store/admin-store.ts";
import type { Drain } from "../dispatch/drain.ts";
import type { Slots } from "../dispatch/slots.ts";
import type { Attempts } from "../execution/attempts.ts";
import type { LeakedHandlers } from "../execution/run-handler.ts";
import { Deadline } from "../clock.ts";
import type { Services } from "../services.ts";
import { MinuteCounts, minuteOf, type ProcessCounts } from "./process-counts.ts";
import { reportText, type ProcessReport } from "./process-report.ts";
import { packageVersion } from "../../task/package.ts";

/** The first report comes soon, so that operators see a new process. */
const firstAfterMs = 1_000;

const everyMs = 10_000;

/** How long a stop waits for the last one. */
const lastWithinMs = 1_000;

/** How many running steps a report names. */
const mostSteps = 1_000;

/** How long reports are kept. */
const keptMinutes = 6 * 60;

export interface ReportedParts {
  readonly slots: Pick<Slots, "used" | "limit">;
  readonly attempts: Pick<Attempts, "active" | "waiting">;
  readonly leaked: Pick<LeakedHandlers, "counts">;
  readonly drain?: Pick<Drain, "state">;
}

/** Reports to the store what happened in this process, and its state. Nothing waits for a store that does not answer. */
export class Reporter {
  readonly #services: Services;
  readonly #parts: ReportedParts;
  readonly #readings: () => ProcessReadings;
  #process: ProcessReadings | undefined;
  #startedAt = 0;
  #cancelTimers: (() => void)[] = [];
  #writing: Promise<void> | undefined;
  /** Only the newest row names steps: those of earlier minutes would take much room, and outlive their tasks. */
  #minuteWithSteps: number | undefined;
  /** Whether the error about a store that accepts no reports was already reported. */
  #failed = false;

  constructor(services: Services, parts: ReportedParts, readings = thisProcess) {
    this.#services = services;
    this.#parts = parts;
    this.#readings = readings;
  }

  start(): void {
    const { clock, counts, store } = this.#services;
    const { reports } = store;
    if (counts === undefined || reports === undefined) return;
    this.#process = this.#readings();
    this.#startedAt = clock.now();
    const report = (): void => void this.#report(counts, reports);
    this.#cancelTimers = [clock.after(firstAfterMs, report), clock.every(everyMs, report)];
    counts.onLoss(report);
  }

  /** Sends the last report, if the store answers. */
  async stop(): Promise<void> {
    const { clock, counts, store } = this.#services;
    if (this.#process === undefined || counts === undefined || store.reports === undefined) return;
    this.#end();
    const deadline = new Deadline(clock, lastWithinMs);
    await deadline.bound(this.#last(counts, store.reports));
    deadline.cancelTimer();
    this.close();
  }

  /** Sends a report now; rejects if the store does not accept it. Undefined if this process sends none. */
  report(): Promise<void> | undefined {
    const { counts, store } = this.#services;
    if (this.#closed || counts === undefined || store.reports === undefined) return undefined;
    return this.#report(counts, store.reports);
  }

  async #last(counts: ProcessCounts, reports: NodeReports): Promise<void> {
    await this.#writing?.catch(() => undefined);
    await this.#report(counts, reports).catch(() => undefined);
  }

  /** Sends no more reports. */
  close(): void {
    this.#end();
    this.#process?.stop();
    this.#process = undefined;
  }

  #end(): void {
    for (const cancelTimer of this.#cancelTimers) cancelTimer();
    this.#cancelTimers = [];
  }

  /** The previous report, if the store has not accepted that yet. */
  #report(counts: ProcessCounts, reports: NodeReports): Promise<void> {
    const { onError, commits } = this.#services;
    if (this.#writing === undefined) {
      const writing = commits.prove(this.#write(counts, reports)).finally(() => (this.#writing = undefined));
      this.#writing = writing;
      writing.then(
        () => (this.#failed = false),
        (error: unknown) => {
          if (!this.#failed && !this.#closed) onError(error);
          this.#failed = true;
        },
      );
    }
    return this.#writing;
  }

  /** Nothing more is sent: the store may be closed, if a stop could not wait for the last report. */
  get #closed(): boolean {
    return this.#process === undefined;
  }

  /** A minute that is over is reported once more, complete. */
  async #write(counts: ProcessCounts, reports: NodeReports): Promise<void> {
    const now = this.#services.clock.now();
    const current = minuteOf(now);
    const stands = this.#stands(now);
    if (stands === undefined) return;
    const said = new Map(counts.minutes());
    if (!said.has(current)) said.set(current, new MinuteCounts());
    const before = this.#minuteWithSteps;
    if (before !== undefined && !said.has(before)) said.set(before, new MinuteCounts());
    for (const [minute, { tools, refusals, lost }] of said) {
      if (this.#closed) return;
      const { steps: running = [], ...rest } = stands;
      const steps = minute === current ? running : [];
      await reports.write(
        { minute, body: reportText({ ...rest, steps, tools, refusals, ...(lost && { lost }) }) },
        current - keptMinutes,
      );
      if (minute === current) this.#minuteWithSteps = steps.length > 0 ? minute : undefined;
      else if (minute === this.#minuteWithSteps) this.#minuteWithSteps = undefined;
      if (minute < current) counts.forget(minute);
    }
  }

  #stands(at: number): Omit<ProcessReport, "tools" | "refusals" | "lost"> | undefined {
    const { slots, attempts, leaked, drain } = this.#parts;
    if (this.#process === undefined) return undefined;
    const { host, pid, version } = this.#process;
    return {
      at,
      host,
      pid,
      version,
      startedAt: this.#startedAt,
      roles: this.#services.options.roles,
      slots: { used: slots.used, limit: slots.limit },
      parked: [...attempts.waiting().values()].reduce((sum, count) => sum + count, 0),
      ...(drain?.state && { drain: drain.state }),
      leaked: [...leaked.counts.values()].reduce((sum, count) => sum + count, 0),
      active: [...attempts.active()],
      steps: this.#services.counts?.steps.oldest(mostSteps) ?? [],
      loopDelay: this.#process.loopDelay(),
      memoryBytes: this.#process.memoryBytes(),
    };
  }
}

/** Readings of the process itself for a report. */
export interface ProcessReadings {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  memoryBytes(): number;
  /** The event loop delay since the last reading; null if nothing was measured. */
  loopDelay(): ProcessReport["loopDelay"];
  stop(): void;
}

/** How often the event loop is checked (ms): the time between two checks is measured. */
const resolution = 20;

const nsOfMs = 1e6;

/** Measures from now on until it is stopped. */
export function thisProcess(): ProcessReadings {
  const histogram = monitorEventLoopDelay({ resolution });
  histogram.enable();
  const late = (ns: number): number => Math.max(0, Math.round((ns / nsOfMs - resolution) * 10) / 10);
  return {
    host: hostname(),
    pid: process.pid,
    version: packageVersion,
    memoryBytes: () => process.memoryUsage.rss(),
    loopDelay() {
      if (histogram.count === 0) return null;
      const [p50, p99] = [late(histogram.percentile(50)), late(histogram.percentile(99))];
      const delay = { p50, p99, max: late(histogram.max) };
      histogram.reset();
      return delay;
    },
    stop: () => histogram.disable(),
  };
}
