import { minuteOf } from "../runtime/reports/process-counts.ts";
import { readReport, type ProcessReport } from "../runtime/reports/process-report.ts";
import type { LivingOwner, NodeReports } from "../store/admin-store.ts";
import type { NodeSummary } from "./activity.ts";
import { invalid } from "./operation.ts";

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
