import type { Clock } from "../runtime/clock.ts";
import type { TaskStore } from "../store/store.ts";
import { Acts, type ActServices } from "./act.ts";
import type { Admin, TaskSummary } from "./admin.ts";
import { adminOf } from "./admin-store-of.ts";
import { limitOf, wholeUpTo } from "./assert-query.ts";
import { countTasks, failuresOf, mostCounted } from "./count-tasks.ts";
import { EndedCounts } from "./ended-counts.ts";
import { activityIn, nodesIn } from "./read-reports.ts";
import { unknown } from "./refusals.ts";
import { selectTasks } from "./select-tasks.ts";
import { actionOf, showTask } from "./show-task.ts";
import { followTasks } from "./task-changes.ts";
import { adminStateOf, summaryOf } from "./summary.ts";
import type { TaskRecord } from "../task/record.ts";

const mostFailures = 10_000;
const mostActions = 1_000;
const mostMessages = 10_000;
const mostMinutes = 360;

export interface AdminServices extends ActServices {
  readonly after: Clock["after"];
}

/** The operators' view of an open store, and their actions on it. */
export function createAdmin(services: AdminServices): Admin {
  const { store, after } = services;
  const ends = new EndedCounts(mostCounted, services.now);
  return {
    async list(query = {}) {
      const limit = limitOf(query);
      const { tasks, next } = await selectTasks(adminOf(store), query, limit, query.after ?? null);
      return { tasks: await Promise.all(tasks.map((task) => listed(store, task))), next };
    },
    async show(id) {
      const shown = await showTask(store, id);
      if (shown === undefined) throw unknown(id);
      return shown;
    },
    async counts() {
      return countTasks(adminOf(store), ends);
    },
    async failures(tool, limit = mostActions) {
      wholeUpTo("limit", limit, mostFailures);
      return failuresOf(store, adminOf(store), tool, limit);
    },
    async webhooks() {
      const waiting = (await store.outbox?.counts(mostMessages)) ?? [];
      return waiting.map(({ hook, ...counts }) => ({ webhook: hook, ...counts }));
    },
    async activity({ minutes = 60 } = {}) {
      wholeUpTo("minutes", minutes, mostMinutes);
      return activityIn(store.reports, services.now(), minutes);
    },
    async nodes() {
      return nodesIn(store.reports, services.now());
    },
    async actions({ taskId, before, limit = 100 } = {}) {
      wholeUpTo("limit", limit, mostActions);
      return (await adminOf(store).actions(taskId ?? null, before ?? null, limit)).map(actionOf);
    },
    changes: ({ signal } = {}) => followTasks(store, after, signal),
    as: (actor) => new Acts(services, actor),
  };
}

/** A failed task's outcome has the reason. */
async function listed(store: TaskStore, task: TaskRecord): Promise<TaskSummary> {
  if (adminStateOf(task) !== "failed") return summaryOf(task, null);
  const snapshot = await store.snapshot(task.id).catch(() => undefined); // a damaged outcome must not hide the others
  return summaryOf(task, snapshot?.outcome ?? null);
}
