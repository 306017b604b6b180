/**
 * What a task did, from its journal.
 * - What failed, what has not ended and how much there is are always shown, however long the journal is.
 * - The rest is read page by page.
 */

import type { ListedEntry, TaskStore } from "../store/store.ts";
import type { TaskRecord } from "../task/record.ts";
import type { TimelineEntry, TimelinePage, TimelineQuery, TimelineSummary } from "./timeline-shapes.ts";
import { errorText } from "./summary.ts";

/** The maximum number of entries shown with a task, and of failed ones among them. */
const mostEntries = 1_000;
const mostFailed = 200;

const mostChildren = 100;

/** The number of entries, and of their ends, to read at a time. */
const headsAtOnce = 1_000;
const endsAtOnce = 200;

/** Journals are shorter. */
const mostHeads = 1_000_000;

export class Timeline {
  readonly summary: TimelineSummary;
  readonly #store: TaskStore;
  readonly #id: string;
  /** In the order in which they began. */
  readonly #heads: readonly ListedEntry[];
  readonly #failed: ReadonlySet<string>;

  private constructor(
    store: TaskStore,
    id: string,
    heads: readonly ListedEntry[],
    failed: ReadonlySet<string>,
  ) {
    this.#store = store;
    this.#id = id;
    this.#heads = heads;
    this.#failed = failed;
    const open = heads.filter(({ doneAt }) => doneAt === null).length;
    this.summary = { entries: heads.length, failed: failed.size, open };
  }

  static async of(store: TaskStore, id: string): Promise<Timeline> {
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
    return new Timeline(store, id, heads, new Set(failed));
  }

  /** The newest of those that failed, those that have not ended, and the newest others, as far as there is room. */
  shown(children: readonly TaskRecord[]): Promise<readonly TimelineEntry[]> {
    const newest = this.#heads.toReversed();
    const failed = newest.filter(({ key }) => this.#failed.has(key)).slice(0, mostFailed);
    const open = newest.filter(({ doneAt }) => doneAt === null);
    const kept = new Set([...new Set([...failed, ...open, ...newest])].slice(0, mostEntries));
    return this.#entries(
      this.#heads.filter((head) => kept.has(head)),
      children,
    );
  }

  async page({ limit = 200, after = -1 }: TimelineQuery): Promise<TimelinePage> {
    const from = this.#heads.findIndex(({ place }) => place > after);
    const heads = from === -1 ? [] : this.#heads.slice(from, from + limit);
    const last = heads.at(-1);
    const isLast = last === undefined || last === this.#heads.at(-1);
    const entries = await this.#entries(heads, await childrenOf(this.#store, this.#id));
    return { entries, next: isLast ? null : last.place };
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
      childId: byCall.get(head.key) ?? null,
    }));
  }
}

/** The newest tasks that a task's handler called. */
export async function childrenOf(store: TaskStore, id: string): Promise<readonly TaskRecord[]> {
  return (await store.admin?.tasks({ of: "children", parent: id }, null, mostChildren)) ?? [];
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
