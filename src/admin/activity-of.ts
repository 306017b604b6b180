import { durationAt, others } from "../runtime/reports/process-counts.ts";
import type { ProcessReport, ToolReport } from "../runtime/reports/process-report.ts";
import type { Activity, RefusalActivity, ToolActivity } from "./activity.ts";

const minuteMs = 60_000;

/**
 * Clients choose the methods that they request. Only the most frequent refusals of some hours are listed by themselves, and only so many
 * are counted separately.
 */
const mostRefusals = 200;
const maxSeparateRefusals = 1_000;

/** What happened to tasks of a tool, or of all tools, by minute. */
interface ByMinute {
  readonly created: number[];
  readonly completed: number[];
  readonly failed: number[];
  readonly cancelled: number[];
}

interface ToolSums extends ByMinute {
  retried: number;
  readonly durations: Map<number, number>;
}

interface RefusalSums {
  readonly code: string;
  readonly method: string | null;
  count: number;
  /** By minute index: most refusals happen in few minutes. */
  readonly byPlace: Map<number, number>;
}

/** Adds up the reports of processes for a number of minutes, from one (since the epoch) on. */
export class ActivitySum {
  readonly #first: number;
  readonly #minutes: number;
  readonly #all: ByMinute;
  readonly #tools = new Map<string, ToolSums>();
  readonly #refusals = new Map<string, RefusalSums>();

  constructor(first: number, minutes: number) {
    this.#first = first;
    this.#minutes = minutes;
    this.#all = this.#byMinute();
  }

  add(minute: number, { tools, refusals }: ProcessReport): void {
    const place = minute - this.#first;
    if (place < 0 || place >= this.#minutes) return;
    for (const tool of tools) this.#addTool(place, tool);
    for (const { code, method, count } of refusals) this.#refused(code, method, place, count);
  }

  result(): Activity {
    const tools = [...this.#tools].sort(([a], [b]) => (a < b ? -1 : 1));
    const refusals = this.#frequent().map((sums) => this.#refusalOf(sums));
    return {
      from: this.#first * minuteMs,
      minutes: this.#minutes,
      ...this.#all,
      tools: tools.map(([tool, sums]) => toolOf(tool, sums)),
      refusals,
    };
  }

  #refused(code: string, method: string | null, place: number, count: number): void {
    const key = JSON.stringify([code, method]);
    const isApart = code === others || this.#refusals.has(key) || this.#refusals.size < maxSeparateRefusals;
    if (!isApart) return this.#refused(others, null, place, count);
    const sums = this.#refusals.get(key) ?? { code, method, count: 0, byPlace: new Map<number, number>() };
    this.#refusals.set(key, sums);
    sums.count += count;
    sums.byPlace.set(place, (sums.byPlace.get(place) ?? 0) + count);
  }

  /** The most frequent refusals, and the sum of all others. */
  #frequent(): readonly RefusalSums[] {
    const byCount = (): RefusalSums[] => [...this.#refusals.values()].sort((a, b) => b.count - a.count);
    for (const { code, method, byPlace } of byCount().slice(mostRefusals)) {
      if (code === others) continue;
      this.#refusals.delete(JSON.stringify([code, method]));
      for (const [place, count] of byPlace) this.#refused(others, null, place, count);
    }
    return byCount();
  }

  #refusalOf({ code, method, count, byPlace }: RefusalSums): RefusalActivity {
    const byMinute = this.#none();
    for (const [place, of] of byPlace) byMinute[place] = of;
    return { code, method, count, byMinute };
  }

  #addTool(place: number, report: ToolReport): void {
    const sums = this.#tools.get(report.tool) ?? {
      ...this.#byMinute(),
      retried: 0,
      durations: new Map<number, number>(),
    };
    this.#tools.set(report.tool, sums);
    for (const counts of [this.#all, sums])
      for (const what of ["created", "completed", "failed", "cancelled"] as const)
        increase(counts[what], place, report[what]);
    sums.retried += report.retried;
    for (const [bucket, count] of report.durations)
      sums.durations.set(bucket, (sums.durations.get(bucket) ?? 0) + count);
  }

  #byMinute(): ByMinute {
    return {
      created: this.#none(),
      completed: this.#none(),
      failed: this.#none(),
      cancelled: this.#none(),
    };
  }

  #none(): number[] {
    return Array.from({ length: this.#minutes }, () => 0);
  }
}

function toolOf(
  tool: string,
  { created, completed, failed, cancelled, retried, durations }: ToolSums,
): ToolActivity {
  return {
    tool,
    created: sum(created),
    completed: sum(completed),
    failed: sum(failed),
    cancelled: sum(cancelled),
    retried,
    ended: completed.map((count, place) => count + (failed[place] ?? 0) + (cancelled[place] ?? 0)),
    p50Ms: durationAt(durations, 0.5),
    p95Ms: durationAt(durations, 0.95),
  };
}

function increase(counts: number[], place: number, by: number): void {
  counts[place] = (counts[place] ?? 0) + by;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
