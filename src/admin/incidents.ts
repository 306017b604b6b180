/** Why tasks fail now: failed tasks that nobody has run again, by cause. */

import { nextTurn } from "../runtime/wait-for.ts";
import type { AdminStore } from "../store/admin-store.ts";
import type { FailedTask } from "../store/tables/task.ts";
import type { TaskStore } from "../store/store.ts";
import { messagePattern } from "../task/cause.ts";
import { adminOf } from "./admin-store-of.ts";
import { mostCounted } from "./count-tasks.ts";
import { trendParts, type FailureGroup, type Incident } from "./incident-operations.ts";
import { newestTasks, errorText } from "./select-tasks.ts";

/** Failed tasks to read at a time. */
const page = 1_000;

/** Of more failures than that, so many of older ones are read, in turns between causes: one that fails often must not hide others. */
const mostOlder = 40_000;

/** Causes to look for behind the newest failures. */
const mostCauses = 1_000;

/** How long each number of a trend stands for (ms). */
const partMs = 5 * 60_000;

/** The failures of one cause among those that were looked at. */
interface Group {
  readonly newest: FailedTask;
  readonly all: readonly FailedTask[];
  readonly open: readonly FailedTask[];
}

/** Causes whose tasks nobody has run again: those that nobody has muted first, and each time the one that failed last. */
export async function incidentsIn(
  store: TaskStore,
  now: number,
  options: { readonly tool: string | undefined; readonly limit: number; readonly newest?: number },
): Promise<readonly Incident[]> {
  const { tool, limit, newest: most = mostCounted } = options;
  const admin = adminOf(store);
  const [{ failed, isWhole }, marks] = await Promise.all([failedIn(admin, most), admin.causes.marks()]);
  const markOf = new Map(marks.map((mark) => [mark.cause, mark]));
  const isMuted = (cause: string): boolean => markOf.get(cause)?.muted === true;
  const groups = [...groupsOf(failed)]
    .filter(([, { open, newest }]) => open.length > 0 && (tool === undefined || newest.tool === tool))
    .sort(
      ([a, left], [b, right]) =>
        Number(isMuted(a)) - Number(isMuted(b)) || failedAt(right.newest) - failedAt(left.newest),
    )
    .slice(0, limit);
  return Promise.all(
    groups.map(async ([cause, group]) => {
      const { note = null } = markOf.get(cause) ?? {};
      const shown = await shownGroup(store, cause, group, isWhole);
      return { ...shown, trend: trendOf(group.all, now), muted: isMuted(cause), note };
    }),
  );
}

async function shownGroup(
  store: TaskStore,
  cause: string,
  { all, open, newest }: Group,
  isWhole: boolean,
): Promise<Omit<Incident, "trend" | "muted" | "note">> {
  const admin = adminOf(store);
  const example = open[0] ?? newest;
  const [error, tasks, first] = await Promise.all([
    errorOf(store, example.id),
    isWhole ? Math.min(all.length, mostCounted) : admin.count({ of: "cause", cause }, mostCounted),
    isWhole ? all.at(-1) : admin.causes.first(cause),
  ]);
  return {
    cause,
    tool: newest.tool,
    message: messagePattern(error ?? ""),
    open: open.length,
    tasks,
    callers: new Set(open.map(({ principal }) => principal)).size,
    firstAt: failedAt(first ?? newest),
    firstVersion: (first ?? newest).toolVersion,
    lastAt: failedAt(newest),
    lastVersion: newest.toolVersion,
    taskId: example.id,
    error,
  };
}

interface ReadFailures {
  readonly failed: readonly FailedTask[];
  /** Whether these are all. */
  readonly isWhole: boolean;
}

/** The newest failures of all tools, and then those of each cause. */
async function failedIn(admin: AdminStore, newest: number): Promise<ReadFailures> {
  const failed: FailedTask[] = [];
  let oldest: string | null = null;
  while (failed.length < newest) {
    const count = Math.min(page, newest - failed.length);
    const tasks = await admin.causes.failed(oldest, count);
    failed.push(...tasks);
    oldest = tasks.at(-1)?.id ?? null;
    if (tasks.length < count) return { failed, isWhole: true };
    await nextTurn();
  }
  const older = await olderFailed(admin, oldest);
  return { failed: [...failed, ...older.failed], isWhole: older.isWhole };
}

async function olderFailed(admin: AdminStore, before: string | null): Promise<ReadFailures> {
  const failed: FailedTask[] = [];
  let open = await admin.causes.names(mostCauses);
  const isWhole = open.length < mostCauses;
  const last = new Map<string, string | null>();
  while (open.length > 0) {
    const left: string[] = [];
    for (const cause of open) {
      if (failed.length >= mostOlder) return { failed, isWhole: false };
      const tasks = await admin.causes.failed(last.get(cause) ?? before, page, cause);
      failed.push(...tasks);
      last.set(cause, tasks.at(-1)?.id ?? before);
      if (tasks.length === page) left.push(cause);
      await nextTurn();
    }
    open = left;
  }
  return { failed, isWhole };
}

/**
 * One is open until it is run again. What failed below a task is run again by the one at the top, and is over if that one did not fail.
 */
function isOpen({ parent, retriedAs }: FailedTask, byId: ReadonlyMap<string, FailedTask>): boolean {
  if (parent === null) return retriedAs === undefined;
  const top = byId.get(parent.root);
  return top !== undefined && top.retriedAs === undefined;
}

function groupsOf(failed: readonly FailedTask[]): ReadonlyMap<string, Group> {
  const byId = new Map(failed.map((task) => [task.id, task]));
  const byCause = Map.groupBy(failed, ({ cause = "" }) => cause);
  return new Map(
    [...byCause].map(([cause, all]) => {
      const newest = all.reduce((last, task) => (failedAt(task) > failedAt(last) ? task : last));
      return [cause, { newest, all, open: all.filter((task) => isOpen(task, byId)) }];
    }),
  );
}

function failedAt({ finishedAt }: FailedTask): number {
  return finishedAt ?? 0;
}

function trendOf(failed: readonly FailedTask[], now: number): readonly number[] {
  const trend = Array.from({ length: trendParts }, () => 0);
  for (const task of failed) {
    const part = trendParts - 1 - Math.floor(Math.max(0, now - failedAt(task)) / partMs);
    if (trend[part] !== undefined) trend[part]++;
  }
  return trend;
}

/** Null for a damaged outcome, which must not hide the others. */
async function errorOf(store: TaskStore, id: string): Promise<string | null> {
  const snapshot = await store.snapshot(id).catch(() => undefined);
  return snapshot?.outcome == null ? null : errorText(snapshot.outcome);
}

/** Tasks whose outcomes are read at a time. */
const atOnce = 50;

/** The newest `limit` failed tasks of a tool by cause, most frequent first. */
export async function failuresOf(
  store: TaskStore,
  tool: string,
  limit: number,
): Promise<readonly FailureGroup[]> {
  const groups = new Map<string, Omit<FailureGroup, "message">>();
  const failed = { tool, states: ["failed"] } as const;
  for await (const tasks of newestTasks(adminOf(store), failed, limit))
    for (const { id, cause = "", finishedAt, createdAt } of tasks) {
      const at = finishedAt ?? createdAt;
      const known = groups.get(cause) ?? { cause, count: 0, taskId: id, firstAt: at, lastAt: at };
      const { count, firstAt, lastAt } = known;
      const times = { firstAt: Math.min(firstAt, at), lastAt: Math.max(lastAt, at) };
      groups.set(cause, { ...known, ...times, count: count + 1 });
    }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count);
  const named: FailureGroup[] = [];
  for (let from = 0; from < sorted.length; from += atOnce)
    named.push(
      ...(await Promise.all(
        sorted.slice(from, from + atOnce).map(async (group) => {
          return { ...group, message: messagePattern((await errorOf(store, group.taskId)) ?? "") };
        }),
      )),
    );
  return named;
}
