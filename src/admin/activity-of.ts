import { durationAt, others, minuteOf } from "../runtime/reports/process-counts.ts";
import { type ProcessReport, type ToolReport, readReport } from "../runtime/reports/process-report.ts";
import type { Activity, RefusalActivity, ToolActivity, NodeSummary } from "./activity.ts";
import type { LivingOwner, NodeReports } from "../store/admin-store.ts";
import { invalid } from "./operation.ts";

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

/** The maximum number of reports that are read together. */
export const mostReports = 5_000;

/** How long a process is shown after it is gone (ms). */
const goneShownMs = 600_000;

/** The clocks of machines differ: a report may be for a minute that has not begun here. */
const aheadMinutes = 10;

const mostRunning = 10_000;

type Alive = Pick<NodeSummary, "alive"> & Omit<LivingOwner, "id">;

/**
 * Processes that are alive, oldest first, then those that were until recently, each with its last report. `but`: a process that has the
 * store open for an operator only.
 */
export async function nodesIn(
  reports: NodeReports | undefined,
  now: number,
  but?: string,
): Promise<readonly NodeSummary[]> {
  if (reports === undefined) return [];
  const minute = minuteOf(now);
  const first = minute - goneShownMs / 60_000;
  const [living, published] = await Promise.all([
    reports.owners(mostRunning),
    reports.between(first, minute + aheadMinutes, mostReports),
  ]);
  const newest = new Map<string, ProcessReport>();
  for (const { owner, body } of published) {
    const report = newest.has(owner) ? undefined : readReport(body);
    if (report !== undefined) newest.set(owner, report);
  }
  const alive = living
    .filter(({ id }) => id !== but)
    .map(({ id, running, drainUntil }) => nodeOf(id, newest.get(id), { alive: true, running, drainUntil }));
  const ids = new Set(living.map(({ id }) => id));
  const gone = [...newest]
    .filter(([id, { at }]) => !ids.has(id) && at >= now - goneShownMs)
    .map(([id, report]) => nodeOf(id, report, { alive: false, running: 0, drainUntil: null }));
  return [...alive.toSorted(byStart), ...gone.toSorted(byStart)];
}

function nodeOf(
  id: string,
  report: ProcessReport | undefined,
  { alive, running, drainUntil }: Alive,
): NodeSummary {
  return {
    id,
    alive,
    host: report?.host ?? null,
    pid: report?.pid ?? null,
    version: report?.version ?? null,
    startedAt: report?.startedAt ?? null,
    reportedAt: report?.at ?? null,
    roles: report?.roles ?? [],
    slots: report?.slots ?? null,
    running,
    parked: report?.parked ?? null,
    leaked: report?.leaked ?? null,
    loopDelay: report?.loopDelay ?? null,
    memoryBytes: report?.memoryBytes ?? null,
    draining: drainUntil === null ? null : { until: drainUntil, left: leftIn(report, drainUntil) },
  };
}

/** Processes that have not reported their start come last. */
function byStart(a: NodeSummary, b: NodeSummary): number {
  return (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || (a.id < b.id ? -1 : 1);
}

/** What the process still holds, as far as it has said so of this drain. */
function leftIn({ drain }: Partial<ProcessReport> = {}, until: number): number | null {
  return drain?.until === until ? drain.left : null;
}

/** A living process. Rejects with `invalid_params` if there is none of that id. */
export async function livingNode(
  reports: NodeReports | undefined,
  now: number,
  id: string,
): Promise<NodeSummary> {
  const node = (await nodesIn(reports, now)).find((each) => each.id === id && each.alive);
  if (node === undefined) throw invalid(`No living process of this store has the id ${id}.`);
  return node;
}
