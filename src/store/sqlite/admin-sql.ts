import { insertInto } from "../tables/statements.ts";
import { actionTable, causeMarkTable, pausedToolTable } from "../tables/tables.ts";
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
export const insertAction = insertInto(actionTable);
/** Deletes a few actions before a time. */
export const deleteOldActions = `
  DELETE FROM action WHERE seq IN (SELECT seq FROM action ORDER BY seq LIMIT 10) AND at < ?`;

export const selectPaused = `SELECT ${pausedToolTable.list()} FROM paused_tool ORDER BY tool`;
export const insertPaused = `${insertInto(pausedToolTable)} ON CONFLICT (tool) DO NOTHING`;
export const selectCauseMarks = `SELECT ${causeMarkTable.list()} FROM cause_mark ORDER BY cause`;
export const replaceCauseMark = insertInto(causeMarkTable).replace("INSERT", "INSERT OR REPLACE");
export const deleteCauseMark = "DELETE FROM cause_mark WHERE cause = ?";
export const deletePaused = "DELETE FROM paused_tool WHERE tool = ?";
