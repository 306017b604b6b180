import { nextTurn } from "../runtime/next-turn.ts";
import { minuteOf } from "../runtime/reports/process-counts.ts";
import { readReport, type ProcessReport } from "../runtime/reports/process-report.ts";
import type { NodeReports } from "../store/node-reports.ts";
import { ActivitySum } from "./activity-of.ts";
import type { Activity, NodeSummary } from "./activity.ts";

/** The minutes whose reports are read together, and the maximum number of reports among them. */
const minutesAtOnce = 15;
const mostAtOnce = 5_000;

/** How long a process is shown after it is gone (ms). */
const goneShownMs = 600_000;
/** The clocks of machines differ: a report may be for a minute that has not begun here. */
const aheadMinutes = 10;
const mostRunning = 10_000;

/** The reports of so many minutes, including that of `now`. */
export async function activityIn(
  reports: NodeReports | undefined,
  now: number,
  minutes: number,
): Promise<Activity> {
  const last = minuteOf(now);
  const first = last - minutes + 1;
  const sums = new ActivitySum(first, minutes);
  for (let from = first; reports !== undefined && from <= last; from += minutesAtOnce) {
    const to = Math.min(last, from + minutesAtOnce - 1);
    for (const { minute, body } of await reports.between(from, to, mostAtOnce)) {
      const report = readReport(body);
      if (report !== undefined) sums.add(minute, report);
    }
    await nextTurn();
  }
  return sums.result();
}

/** Processes that are alive, oldest first, then those that were until recently, each with its last report. */
export async function nodesIn(
  reports: NodeReports | undefined,
  now: number,
): Promise<readonly NodeSummary[]> {
  if (reports === undefined) return [];
  const minute = minuteOf(now);
  const first = minute - goneShownMs / 60_000;
  const [living, published] = await Promise.all([
    reports.owners(mostRunning),
    reports.between(first, minute + aheadMinutes, mostAtOnce),
  ]);
  const newest = new Map<string, ProcessReport>();
  for (const { owner, body } of published) {
    const report = newest.has(owner) ? undefined : readReport(body);
    if (report !== undefined) newest.set(owner, report);
  }
  const alive = living.map(({ id, running }) => nodeOf(id, newest.get(id), { alive: true, running }));
  const ids = new Set(living.map(({ id }) => id));
  const gone = [...newest]
    .filter(([id, { at }]) => !ids.has(id) && at >= now - goneShownMs)
    .map(([id, report]) => nodeOf(id, report, { alive: false, running: 0 }));
  return [...alive.toSorted(byStart), ...gone.toSorted(byStart)];
}

function nodeOf(
  id: string,
  report: ProcessReport | undefined,
  { alive, running }: Pick<NodeSummary, "alive" | "running">,
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
  };
}

/** Processes that have not reported their start come last. */
function byStart(a: NodeSummary, b: NodeSummary): number {
  return (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || (a.id < b.id ? -1 : 1);
}
