import type { StoredAction } from "../task/record.ts";
import type { BulkTask } from "../task/bulk.ts";
import type { TaskStore } from "../store/store.ts";
import type { AdminAction } from "./admin.ts";
import { adminOf } from "./admin-store-of.ts";
import { shownJob } from "./bulk.ts";
import { parsed } from "./summary.ts";

/** What operators did, newest first. A bulk action is one of them, with what became of it. */
export async function allActions(
  store: TaskStore,
  before: number | null,
  limit: number,
): Promise<readonly AdminAction[]> {
  const stored = await adminOf(store).actions(null, before, limit);
  return Promise.all(
    stored.map(async (action) =>
      action.job === null
        ? actionOf(action)
        : { ...actionOf(action), detail: await bulkDetail(store, action.job) },
    ),
  );
}

/** What operators did to a task, alone or among others, newest first. */
export async function actionsOn(
  store: TaskStore,
  taskId: string,
  before: number | null,
  limit: number,
): Promise<readonly AdminAction[]> {
  const admin = adminOf(store);
  const [alone, inJobs] = await Promise.all([
    admin.actions(taskId, before, limit),
    admin.bulk.on(taskId, before, limit),
  ]);
  const all = [...alone.map(actionOf), ...inJobs.map(([action, task]) => onTask(action, task))];
  return all.toSorted((a, b) => b.seq - a.seq).slice(0, limit);
}

export function actionOf({ detail, job: _, ...action }: StoredAction): AdminAction {
  return { ...action, detail: detail === null ? null : parsed(detail) };
}

function onTask(action: StoredAction, { job, taskId, created, code }: BulkTask): AdminAction {
  const end = { ...(created !== null && { ranAgainAs: created }), ...(code !== null && { refused: code }) };
  return { ...actionOf(action), taskId, detail: { job, ...end } };
}

/** What filter, how many, and how each ended. */
async function bulkDetail(store: TaskStore, id: string): Promise<object> {
  const { bulk } = adminOf(store);
  const [job, counts] = await Promise.all([bulk.get(id), bulk.counts(id)]);
  if (job === undefined) return { job: id }; // it was about a caller whose data is deleted
  const { selection, options, state, counts: ends, cancelledBy } = shownJob(job, counts, [], []);
  return { job: id, selection, options, state, ...ends, ...(cancelledBy !== null && { cancelledBy }) };
}
