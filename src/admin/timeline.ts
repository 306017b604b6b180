/**
 * What a task did, from its journal, and the steps that run, which are not in it, from the last report of their process.
 * - What failed, what has not ended and how much there is are always shown, however long the journal is.
 * - The rest is read page by page.
 */

import { minuteOf } from "../runtime/reports/process-counts.ts";
import { readReport, type RunningStep } from "../runtime/reports/process-report.ts";
import type { ListedEntry, TaskStore } from "../store/store.ts";
import type { TaskRecord } from "../task/record.ts";
import type { TimelineEntry, TimelinePage, TimelineQuery, TimelineSummary } from "./task-parts.ts";
import { isTerminal } from "../task/outcome.ts";
import { errorText } from "./select-tasks.ts";

/** The maximum number of entries shown with a task, and of failed ones among them. */
const mostEntries = 1_000;
const mostFailed = 200;

const mostChildren = 100;

/** The number of entries, and of their ends, to read at a time. */
const headsAtOnce = 1_000;
const endsAtOnce = 200;

/** Journals are shorter. */
const mostHeads = 1_000_000;

type ShownStep = Pick<RunningStep, "key" | "kind" | "tries"> & { readonly begunAt: number | null };

export class Timeline {
  readonly summary: TimelineSummary;
  readonly #store: TaskStore;
  readonly #id: string;
  /** In the order in which they began. */
  readonly #heads: readonly ListedEntry[];
  readonly #failed: ReadonlySet<string>;
  /** Steps without a place in the journal. */
  readonly #running: readonly ShownStep[];
  /** The limits that steps wait for, by their keys. */
  readonly #limits: ReadonlyMap<string, string>;
  /** Steps that are tried again now. */
  readonly #retried: ReadonlySet<string>;

  private constructor(
    store: TaskStore,
    id: string,
    heads: readonly ListedEntry[],
    failed: ReadonlySet<string>,
    running: readonly RunningStep[],
    limits: ReadonlyMap<string, string>,
  ) {
    const journalled = new Set(heads.map(({ key }) => key));
    const known = new Set([...journalled, ...running.map(({ key }) => key)]);
    const waiting = [...limits.keys()].filter((key) => !known.has(key));
    this.#limits = limits;
    this.#running = [
      ...running.filter(({ key }) => !journalled.has(key)),
      ...waiting.map((key) => ({ key, begunAt: null, tries: 0 })),
    ];
    this.#retried = new Set(running.map(({ key }) => key));
    this.#store = store;
    this.#id = id;
    this.#heads = heads;
    this.#failed = failed;
    const open = heads.filter(({ doneAt }) => doneAt === null).length;
    const steps = this.#running.length;
    this.summary = { entries: heads.length + steps, failed: failed.size, open: open + steps };
  }

  static async of(store: TaskStore, task: TaskRecord, now: number): Promise<Timeline> {
    const { id } = task;
    const heads: ListedEntry[] = [];
    for (let from: string | null = ""; from !== null;) {
      const { entries, next }: Awaited<ReturnType<TaskStore["journal"]>> = await store.journal(
        id,
        from,
        headsAtOnce,
      );
      heads.push(...entries);
      from = next;
    }
    heads.sort((a, b) => a.place - b.place);
    const failed = (await store.admin?.failedKeys(id, mostHeads)) ?? [];
    const running = await runningSteps(store, task, now);
    return new Timeline(store, id, heads, new Set(failed), running, await limitsOf(store, task));
  }

  /** The newest of those that failed, those that have not ended, and the newest others, as far as there is room. */
  async shown(children: readonly TaskRecord[]): Promise<readonly TimelineEntry[]> {
    const newest = this.#heads.toReversed();
    const failed = newest.filter(({ key }) => this.#failed.has(key)).slice(0, mostFailed);
    const open = newest.filter(({ doneAt }) => doneAt === null);
    const kept = new Set([...new Set([...failed, ...open, ...newest])].slice(0, mostEntries));
    const entries = await this.#entries(
      this.#heads.filter((head) => kept.has(head)),
      children,
    );
    return [...entries, ...this.#running.map((step) => this.#runningEntry(step))];
  }

  async page({ limit = 200, after = -1 }: TimelineQuery): Promise<TimelinePage> {
    const from = this.#heads.findIndex(({ place }) => place > after);
    const heads = from === -1 ? [] : this.#heads.slice(from, from + limit);
    const last = heads.at(-1);
    const isLast = last === undefined || last === this.#heads.at(-1);
    const entries = await this.#entries(heads, await childrenOf(this.#store, this.#id));
    if (!isLast) return { entries, next: last.place };
    return { entries: [...entries, ...this.#running.map((step) => this.#runningEntry(step))], next: null };
  }

  async #entries(
    heads: readonly ListedEntry[],
    children: readonly TaskRecord[],
  ): Promise<readonly TimelineEntry[]> {
    const failed = heads.map(({ key }) => key).filter((key) => this.#failed.has(key));
    const errors = new Map<string, string>();
    for (let start = 0; start < failed.length; start += endsAtOnce)
      for (const { key, error } of await this.#store.journalEnds(
        this.#id,
        failed.slice(start, start + endsAtOnce),
      ))
        if (error !== null) errors.set(key, error);
    // A handler that ran again may have made several calls under a key: the newest counts.
    const byCall = new Map(children.toReversed().map((child) => [child.parent?.key, child.id]));
    return heads.map((head) => ({
      ...entryOf(head, errors.get(head.key)),
      ...(this.#retried.has(head.key) && { until: null }),
      childId: byCall.get(head.key) ?? null,
      ...this.#limitOf(head.key),
    }));
  }

  #runningEntry({ key, kind = "step", begunAt, tries }: ShownStep): TimelineEntry {
    const none = { method: null, doneAt: null, durationMs: null, until: null, error: null, childId: null };
    return { key, kind, begunAt, tries, ...none, ...this.#limitOf(key) };
  }

  #limitOf(key: string): Pick<TimelineEntry, "limit"> {
    const limit = this.#limits.get(key);
    return limit === undefined ? {} : { limit };
  }
}

/** The newest tasks that a task's handler called. */
export async function childrenOf(store: TaskStore, id: string): Promise<readonly TaskRecord[]> {
  return (await store.admin?.tasks({ of: "children", parent: id }, null, mostChildren)) ?? [];
}

/** A report is older if its process does not reach the store, or is gone. */
const newestMinutes = 2;

/** The clocks of machines differ: a report may be for a minute that has not begun here. */
const aheadMinutes = 10;

const mostReports = 5_000;

/** The steps of a running task, as its process last reported them. */
async function runningSteps(
  { reports }: TaskStore,
  { id, state, owner }: TaskRecord,
  now: number,
): Promise<readonly RunningStep[]> {
  if (state !== "running" || owner === null || reports === undefined) return [];
  const minute = minuteOf(now);
  const found = await reports.between(minute - newestMinutes, minute + aheadMinutes, mostReports);
  const newest = found.find((report) => report.owner === owner); // the newest minute comes first
  const { steps = [] } = (newest && readReport(newest.body)) ?? {};
  return steps.filter(({ taskId }) => taskId === id);
}

/** The limits that steps of the task wait for; the handler itself goes by the name of its tool. */
async function limitsOf(
  { limits }: TaskStore,
  { id, state, tool }: TaskRecord,
): Promise<ReadonlyMap<string, string>> {
  const places = isTerminal(state) ? [] : ((await limits?.ofTask(id)) ?? []);
  return new Map(
    places.filter(({ isWaiting }) => isWaiting).map(({ entry, name }) => [entry === "" ? tool : entry, name]),
  );
}

function entryOf(
  { key, kind, method, begunAt, doneAt, tries, deadlineAt }: ListedEntry,
  error: string | undefined,
): Omit<TimelineEntry, "childId"> {
  return {
    key,
    kind,
    method,
    begunAt,
    doneAt,
    durationMs: begunAt === null || doneAt === null ? null : Math.max(0, doneAt - begunAt),
    tries,
    until: doneAt === null ? deadlineAt : null,
    error: error === undefined ? null : errorText({ kind: "error", body: error }),
  };
}
