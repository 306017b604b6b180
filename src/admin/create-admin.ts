import { type Clock, systemClock, StoreClock } from "../runtime/clock.ts";
import type { TaskStore, StoreChanges } from "../store/store.ts";
import { Acts } from "./act.ts";
import { BulkActs } from "./bulk.ts";
import { BulkRunner, type RunnerServices } from "./bulk-runner.ts";
import type { TaskChanges } from "./admin.ts";
import { countTasks, EndedCounts, mostCounted } from "./count-tasks.ts";
import { call, methodsOf, invalid } from "./operation.ts";
import { acts, reads, type Admin, type AdminActs, type AdminReads } from "./operations.ts";
import { adminOf, readToShow, unknown } from "./admin-store-of.ts";
import { keepSessions, ledgerIn, OperatorSessions } from "./operator-sessions.ts";
import {
  actionsAbout,
  keepReadRecords,
  ReadRecords,
  actionOf,
  actionsOn,
  allActions,
} from "./record-reads.ts";
import { selectTasks } from "./select-tasks.ts";
import { mostReports, nodesIn, ActivitySum } from "./activity-of.ts";
import { listed, showTask, filePartOf } from "./show-task.ts";
import { deliveriesIn } from "./webhooks.ts";
import { failuresOf } from "./incidents.ts";
import { UsageReads } from "./usage.ts";
import { Timeline } from "./timeline.ts";
import { nextTurn } from "../runtime/wait-for.ts";
import { minuteOf } from "../runtime/reports/process-counts.ts";
import { readReport } from "../runtime/reports/process-report.ts";
import type { NodeReports } from "../store/admin-store.ts";
import type { Activity } from "./activity.ts";
import { ArtifactBlobs, folderBlobs } from "../runtime/blobs/artifact-blobs.ts";
import { defaultSettings } from "../runtime/options.ts";
import { HoldfastError } from "../task/fault.ts";

const mostMessages = 10_000;

/** The operators' view of an open store, and their actions on it. `runner` works on bulk jobs that they start. */
export function createAdmin(services: RunnerServices, runner = new BulkRunner(services)): Admin {
  const jobs = new BulkActs(services, runner);
  const { store, now } = services;
  const sessions = new OperatorSessions(ledgerIn(store, now), { now, elapsed: () => systemClock.elapsed() });
  const usage = new UsageReads(store, now);
  const has = readsOf(services, { jobs, sessions, usage });
  const admin: Admin = {
    ...methodsOf<AdminReads>(reads, (operation, input, signal) => call(has, operation, input, signal)),
    as(actor) {
      const does = new Acts(services, { jobs, sessions }, actor);
      return methodsOf<AdminActs>(acts, async (operation, input) => {
        try {
          return await call(does, operation, input);
        } finally {
          usage.forget();
        }
      });
    },
  };
  keepSessions(admin, sessions);
  keepReadRecords(admin, new ReadRecords({ store, now }));
  return admin;
}

function readsOf(
  { store, blobs, operatorOwner, now, after }: RunnerServices,
  { jobs, sessions, usage }: { jobs: BulkActs; sessions: OperatorSessions; usage: UsageReads },
): AdminReads {
  const ends = new EndedCounts(mostCounted, now);
  return {
    async list({ limit = 50, after: last = null, ...selection } = {}) {
      const page = await readToShow(store, (from) => selectTasks(from, selection, limit, last));
      return { ...page, tasks: await Promise.all(page.tasks.map((task) => listed(store, task))) };
    },
    async show(id) {
      const shown = await showTask(store, id, now());
      if (shown === undefined) throw unknown(id);
      return shown;
    },
    async timeline(id, query = {}) {
      const task = await store.get(id);
      if (task === undefined) throw unknown(id);
      return (await Timeline.of(store, task, now())).page(query);
    },
    async artifact(id, name, query = {}) {
      if ((await store.get(id)) === undefined) throw unknown(id);
      return filePartOf({ store, blobs }, id, name, query);
    },
    counts: () => readToShow(store, (from) => countTasks(adminOf(store), ends, from)),
    failures: async (tool, limit = 1_000) => failuresOf(store, tool, limit),
    incidents: (query = {}) => usage.incidents(query),
    callers: (query = {}) => usage.callers(query),
    latency: (tool, { tasks = 200 } = {}) => usage.latency(tool, tasks),
    async webhooks() {
      const waiting = (await store.outbox?.counts(mostMessages)) ?? [];
      return waiting.map(({ hook, ...counts }) => ({ webhook: hook, ...counts }));
    },
    deliveries: async (query = {}) => deliveriesIn(store, query),
    activity: ({ minutes = 60 } = {}) =>
      store.admin === undefined
        ? activityIn(store.reports, now(), minutes)
        : readToShow(store, (from) => activityIn(from, now(), minutes)),
    nodes: async () => nodesIn(store.reports, now(), operatorOwner),
    async actions({ taskId = null, principal, before = null, limit = 100 } = {}) {
      if (principal !== undefined && taskId !== null)
        throw invalid("Give taskId or principal: what is recorded of a caller names no task.");
      if (principal !== undefined)
        return (await actionsAbout({ store, now }, principal, before, limit)).map(actionOf);
      return taskId === null ? allActions(store, before, limit) : actionsOn(store, taskId, before, limit);
    },
    bulkJob: async (id) => jobs.show(id),
    sessions: () => sessions.list(),
    changes: ({ signal } = {}) => followTasks(store, after, signal),
  };
}

/** If more tasks change together, the feed only says that any may have changed. */
const mostIds = 200;

/** The pause between two updates of a reader. */
const restMs = 250;

/** After this long without a change, the store is asked whether it still answers. */
const silentMs = 5_000;

/** The tasks that change from now on. Rejects if the store is not open, and soon after it closes. */
export async function* followTasks(
  store: TaskStore,
  after: Clock["after"],
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskChanges, void, undefined> {
  const admin = adminOf(store);
  await admin.paused();
  const changed = new ChangedIds();
  let look = (): void => undefined;
  const isOver = (): boolean => signal?.aborted === true;
  /** Resolves after a time, or earlier when it is over or `isEnough`. */
  const wait = (ms: number, isEnough: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const cancelTimer = after(ms, resolve);
      look = () => {
        if (!isOver() && !isEnough()) return;
        cancelTimer();
        resolve();
      };
      look();
    });
  const unsubscribe = store.subscribe((changes) => {
    changed.add(changes);
    look();
  });
  const onAbort = (): void => look();
  signal?.addEventListener("abort", onAbort);
  try {
    if (!isOver()) yield { tasks: null };
    while (!isOver()) {
      await wait(restMs, () => false);
      while (changed.areNone && !isOver()) {
        await wait(silentMs, () => !changed.areNone);
        if (changed.areNone && !isOver()) await admin.paused();
      }
      if (!isOver()) yield changed.take();
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    unsubscribe();
  }
}

/** What has changed since it was last taken. */
class ChangedIds {
  /** Null: any task may have. */
  #ids: Set<string> | null = new Set();

  get areNone(): boolean {
    return this.#ids?.size === 0;
  }

  add(changes: StoreChanges): void {
    if (this.#ids === null) return;
    if (changes !== "gap") for (const { id } of changes) this.#ids.add(id);
    if (changes === "gap" || this.#ids.size > mostIds) this.#ids = null;
  }

  take(): TaskChanges {
    const tasks = this.#ids === null ? null : [...this.#ids];
    this.#ids = new Set();
    return { tasks };
  }
}

/** The minutes whose reports are read together. */
const minutesAtOnce = 15;

/** The reports of so many minutes, including that of `now`. */
export async function activityIn(
  reports: Pick<NodeReports, "between"> | undefined,
  now: number,
  minutes: number,
): Promise<Activity> {
  const last = minuteOf(now);
  const first = last - minutes + 1;
  const sums = new ActivitySum(first, minutes);
  for (let from = first; reports !== undefined && from <= last; from += minutesAtOnce) {
    const to = Math.min(last, from + minutesAtOnce - 1);
    for (const { minute, body } of await reports.between(from, to, mostReports)) {
      const report = readReport(body);
      if (report !== undefined) sums.add(minute, report);
    }
    await nextTurn();
  }
  return sums.result();
}

/** How often to renew the lease: seldom enough to cost nothing, and often enough for every lease. */
const renewEveryMs = 1_000;

/** An `Admin` on a store that it opened, or on a remote one. */
export interface OpenAdmin {
  readonly admin: Admin;
  readonly store?: TaskStore;
  /** How far the store's clock is ahead of this machine's (ms). */
  readonly offsetMs: () => number;
  close(): Promise<void>;
}

/**
 * Opens a store for an operator, as another owner without handlers. Starts no tasks, takes none over and ends none. Servers may have the
 * store open. Rejects as the store's `open` does. `blobFolder`: where tasks keep files outside of the store.
 */
export async function openAdmin(store: TaskStore, blobFolder?: string): Promise<OpenAdmin> {
  const clock = new StoreClock(systemClock);
  const operatorOwner = clock.uniqueName();
  await store.open({ id: operatorOwner, handlers: [] });
  await renew(store, clock); // from here on it has the store's time
  const blobs = blobFolder === undefined ? undefined : await blobsOf(store, blobFolder, clock);
  const stop = clock.every(renewEveryMs, () => void renew(store, clock));
  const services: RunnerServices = {
    store,
    blobs,
    operatorOwner,
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: defaultSettings.maxBodyBytes,
  };
  const runner = new BulkRunner(services);
  return {
    store,
    offsetMs: () => clock.offsetMs,
    admin: createAdmin(services, runner),
    close: async () => {
      await runner.stop();
      stop();
      await store.close();
    },
  };
}

/** Undefined for a store without blobs, and without its keys, which those of files are encrypted with. */
async function blobsOf(
  store: TaskStore,
  folder: string,
  clock: StoreClock,
): Promise<ArtifactBlobs | undefined> {
  const blobs = new ArtifactBlobs(folderBlobs(folder), clock);
  try {
    return (await blobs.find(store)) ? blobs : undefined;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "configuration") return undefined;
    throw error;
  }
}

/** In the meantime, requests fail because the store does not answer. */
async function renew(store: TaskStore, clock: StoreClock): Promise<void> {
  try {
    const askedAt = clock.elapsed();
    const { held, now } = await store.renew();
    clock.look(now, askedAt);
    if (!held) await store.rejoin?.();
  } catch {
    // The next renewal tries again.
  }
}
