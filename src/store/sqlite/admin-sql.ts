import {
  actionTable,
  causeMarkTable,
  pausedToolTable,
  reportTable,
  bulkJobTable,
  bulkTaskTable,
  isUnderWay,
  deliveryTable,
  deliveryFailure,
  knownDeliveries,
} from "../tables/tables.ts";
import {
  failedTask,
  finished,
  isAsking,
  isFailed,
  isReady,
  isWaiting,
  recordList,
  unfinished,
} from "../tables/task.ts";
import { upsertInto } from "../tables/statements.ts";

// As in sql.ts, conditions repeat those of the partial indexes.

const allOfTask = recordList();

/** Tasks of a range below an id, newest first, and their number up to a maximum. Search parameters come first. */
const tasks = (index: string, of: string): string =>
  `SELECT ${allOfTask} FROM task ${index} WHERE ${of} AND id < ? ORDER BY id DESC LIMIT ? + 0`;
const counted = (index: string, of: string): string =>
  `SELECT count(*) AS count FROM (SELECT 1 FROM task ${index} WHERE ${of} LIMIT ? + 0)`;

const all = ["", "true"] as const;
const open = ["INDEXED BY task_unfinished", unfinished] as const;
const asking = ["INDEXED BY task_asking", isAsking] as const;
const ended = [
  "INDEXED BY task_ended_as",
  `${finished} AND tool = ? AND state = ? AND outcome_kind IS ?`,
] as const;
const principal = ["INDEXED BY task_owner", "generation = ? AND principal IS ?"] as const;

const cause = ["INDEXED BY task_cause", `${isFailed} AND cause = ?`] as const;

export const selectAll = tasks(...all);
export const selectOpen = tasks(...open);
export const selectAsking = tasks(...asking);
export const selectEnded = tasks(...ended);
export const selectOfPrincipal = tasks(...principal);
export const selectOfCause = tasks(...cause);

export const selectChildrenOf = `
  SELECT ${allOfTask} FROM child INDEXED BY child_parent JOIN task ON task.id = child.id
  WHERE child.parent = ? AND child.id < ? ORDER BY child.id DESC LIMIT ? + 0`;

export const countAll = counted(...all);
export const countOpen = counted(...open);
export const countAsking = counted(...asking);
export const countEnded = counted(...ended);
export const countOfPrincipal = counted(...principal);
export const countOfCause = counted(...cause);
export const countChildren = `
  SELECT count(*) AS count FROM (SELECT 1 FROM child INDEXED BY child_parent WHERE parent = ? LIMIT ? + 0)`;

/** The next tool: one seek for each. */
export const selectEndedTool = `
  SELECT tool FROM task INDEXED BY task_ended_as WHERE ${finished} AND tool > ? ORDER BY tool LIMIT 1`;

/** For an owner and a handler: the number of tasks, up to a maximum, and since when the first one can be claimed. */
export const countReady = `
  SELECT count(*) AS count, min(run_after) AS since FROM (
    SELECT run_after FROM task INDEXED BY task_ready WHERE ${isReady} AND owner = ? AND method = ? AND tool = ? LIMIT ? + 0)`;
export const countParked = `
  SELECT count(*) AS count, NULL AS since FROM (
    SELECT 1 FROM task INDEXED BY task_parked WHERE ${isWaiting} AND method = ? AND tool = ? LIMIT ? + 0)`;

export const selectFailed = `
  SELECT ${failedTask.list()} FROM task INDEXED BY task_failed WHERE ${isFailed} AND id < ? ORDER BY id DESC LIMIT ? + 0`;
export const selectFailedOfCause = `
  SELECT ${failedTask.list()} FROM task INDEXED BY task_cause WHERE ${isFailed} AND cause = ? AND id < ? ORDER BY id DESC LIMIT ? + 0`;
export const selectFirstOfCause = `
  SELECT ${failedTask.list()} FROM task INDEXED BY task_cause WHERE ${isFailed} AND cause = ? AND id > ? ORDER BY id LIMIT ? + 0`;
export const selectNextCause = `
  SELECT cause FROM task INDEXED BY task_cause WHERE ${isFailed} AND cause > ? ORDER BY cause LIMIT 1`;

export const selectFailedKeys = "SELECT key FROM journal WHERE task_id = ? AND error IS NOT NULL LIMIT ? + 0";

export const selectActions = `
  SELECT ${actionTable.list()} FROM action WHERE seq < ? ORDER BY seq DESC LIMIT ? + 0`;
export const selectActionsOf = `
  SELECT ${actionTable.list()} FROM action INDEXED BY action_task
  WHERE task_id IS NOT NULL AND task_id = ? AND seq < ? ORDER BY seq DESC LIMIT ? + 0`;
export const selectPaused = `SELECT ${pausedToolTable.list()} FROM paused_tool ORDER BY tool`;
export const selectCauseMarks = `SELECT ${causeMarkTable.list()} FROM cause_mark ORDER BY cause`;
export const upsertReport = upsertInto(reportTable);
export const deleteOldReports = "DELETE FROM report WHERE minute < ?";
export const selectReports = `
  SELECT ${reportTable.list()} FROM report WHERE minute BETWEEN ? AND ? ORDER BY minute DESC LIMIT ? + 0`;

/** Looks at the oldest unfinished tasks, up to a number. */
export const selectRunningOwners = `
  SELECT owner FROM (
    SELECT owner, state, waiting, open_inputs FROM task INDEXED BY task_unfinished WHERE state IN ('queued', 'running') ORDER BY id LIMIT ? + 0)
  WHERE state = 'running' AND waiting = 0 AND open_inputs IS NULL`;

const job = bulkJobTable.list();
const task = bulkTaskTable.list();

export const selectBulkJob = `SELECT ${job} FROM bulk_job WHERE id = ?`;
export const selectBulkUnderWay = `
  SELECT ${job} FROM bulk_job INDEXED BY bulk_job_under_way WHERE ${isUnderWay} ORDER BY id LIMIT ? + 0`;
export const selectBulkJobs = `SELECT ${job} FROM bulk_job WHERE id < ? ORDER BY id DESC LIMIT ? + 0`;
export const selectOldestBulk = `SELECT ${job} FROM bulk_job ORDER BY id LIMIT ? + 0`;
export const selectBulkTasks = `
  SELECT ${task} FROM bulk_task INDEXED BY bulk_task_end
  WHERE job = ? AND ended_as IS ? AND place > ? ORDER BY place LIMIT ? + 0`;
export const countBulkTasks = `
  SELECT ended_as, count(*) AS count FROM bulk_task INDEXED BY bulk_task_end WHERE job = ? GROUP BY ended_as`;
export const selectBulkOn = `
  SELECT ${actionTable.list("action")}, ${bulkTaskTable.list("bulk_task")}
  FROM bulk_task INDEXED BY bulk_task_task JOIN action INDEXED BY action_job
    ON action.job IS NOT NULL AND action.job = bulk_task.job
  WHERE bulk_task.task_id = ? AND bulk_task.ended_as IS NOT NULL AND action.seq < ? ORDER BY bulk_task.job DESC LIMIT ? + 0`;

const deliveries = deliveryTable.list();

export const selectDueDeliveries = `
  SELECT ${deliveries} FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at <= ? AND ${knownDeliveries} ORDER BY due_at, seq LIMIT ? + 0`;
export const selectLaterDeliveries = `
  SELECT ${deliveries} FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at > ? AND ${knownDeliveries} ORDER BY due_at, seq LIMIT ? + 0`;
export const selectGivenUpDeliveries = `
  SELECT ${deliveries} FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at IS NULL AND ${knownDeliveries} ORDER BY seq LIMIT ? + 0`;
/** Among the oldest ones: those before a time, and those beyond the newest so many. */
export const selectExcessDeliveries = `
  SELECT seq FROM (SELECT seq, at FROM delivery ORDER BY seq LIMIT ? + 0)
  WHERE at < ? OR seq <= coalesce((SELECT seq FROM delivery ORDER BY seq DESC LIMIT 1 OFFSET ? + 0), -1)`;

export const selectNextDelivery = `
  SELECT due_at FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at IS NOT NULL AND ${knownDeliveries} ORDER BY due_at LIMIT 1`;
/** The next webhook: one seek for each. */
export const selectNextHook =
  "SELECT hook FROM delivery INDEXED BY delivery_due WHERE hook > ? ORDER BY hook LIMIT 1";
export const countWaitingDeliveries = `
  SELECT count(*) AS count, min(at) AS oldest FROM (
    SELECT at FROM delivery INDEXED BY delivery_due WHERE hook = ? AND due_at IS NOT NULL LIMIT ? + 0)`;
export const countGivenUpDeliveries = `
  SELECT count(*) AS count FROM (
    SELECT 1 FROM delivery INDEXED BY delivery_due WHERE hook = ? AND due_at IS NULL LIMIT ? + 0)`;
/** For a task, among the newest ones. */
export const selectDeliveriesOfTask = `
  SELECT ${deliveries} FROM delivery
  WHERE seq > coalesce((SELECT seq FROM delivery ORDER BY seq DESC LIMIT 1 OFFSET ? + 0), -1) AND task_id = ? ORDER BY seq`;
export const selectDeliveriesBefore = `
  SELECT ${deliveries} FROM delivery WHERE seq < ? AND ${knownDeliveries} ORDER BY seq DESC LIMIT ? + 0`;
export const selectLastFailure = `
  SELECT ${deliveryFailure.list()} FROM delivery INDEXED BY delivery_failed
  WHERE hook = ? AND failed_at IS NOT NULL ORDER BY failed_at DESC LIMIT 1`;
