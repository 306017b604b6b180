import { insertRows } from "../tables/postgres-statements.ts";
import { actionTable, causeMarkTable, pausedToolTable } from "../tables/tables.ts";
import {
  failedTask,
  finished,
  isAsking,
  isFailed,
  isReady,
  isWaiting,
  recordList,
  taskTable,
  unfinished,
} from "../tables/task.ts";
import type { Names } from "./names.ts";
import { withQueuedHandlers } from "./queue-handlers.ts";

const recordColumns = recordList();

/** In what tasks are alike that stand alike, besides questions and blocks. */
export const alikeTasks = taskTable.pick("tool", "state", "lane", "waiting", "waitsFor", "outcomeKind");

/** The reads and writes of operators. Conditions repeat those of the partial indexes. */
export function adminStatements(names: Names) {
  const { task, child, journal, action, pausedTool, causeMark } = names;
  /** Tasks of a range below an id, newest first. Search parameters come first. */
  const tasks = (of: string, searched = 0): string => `SELECT ${recordColumns} FROM ${task}
    WHERE ${of} AND id < $${searched + 1} ORDER BY id DESC LIMIT $${searched + 2}`;
  /** Their number, up to a maximum. */
  const counted = (of: string, searched = 0): string =>
    `SELECT count(*)::int FROM (SELECT 1 FROM ${task} WHERE ${of} LIMIT $${searched + 1}) AS counted`;
  const ended = `${finished} AND tool = $1 AND coalesce(outcome_kind, state) = $2`;
  /** The last part distinguishes no name from an empty one. */
  const principal =
    "generation = $1 AND coalesce(principal, '') = coalesce($2::text, '') AND (principal IS NULL) = ($2::text IS NULL)";
  const ofCause = `${isFailed} AND cause = $1`;
  const stored = actionTable.list();
  const pages = `(pg_relation_size('${task}'::regclass) / current_setting('block_size')::int)`;
  return {
    all: tasks("true"),
    open: tasks(unfinished),
    asking: tasks(isAsking),
    ended: tasks(ended, 2),
    principal: tasks(principal, 2),
    cause: tasks(ofCause, 1),
    children: `SELECT ${recordColumns} FROM ${child} JOIN ${task} ON task.id = child.id
      WHERE child.parent = $1 AND child.id < $2 ORDER BY child.id DESC LIMIT $3`,
    countAll: counted("true ORDER BY id"),
    countOpen: counted(unfinished),
    countAsking: counted(isAsking),
    countEnded: counted(ended, 2),
    countPrincipal: counted(principal, 2),
    countCause: counted(ofCause, 1),
    countChildren: `SELECT count(*)::int FROM (SELECT 1 FROM ${child} WHERE parent = $1 LIMIT $2) AS counted`,
    /** Step by step: each step seeks the next name. */
    endedTools: `WITH RECURSIVE named AS (
      (SELECT tool FROM ${task} WHERE ${finished} ORDER BY tool LIMIT 1)
      UNION ALL
      SELECT next.tool FROM named CROSS JOIN LATERAL (
        SELECT tool FROM ${task} WHERE ${finished} AND tool > named.tool ORDER BY tool LIMIT 1) AS next
    ) SELECT tool FROM named`,
    /** The queue of each handler and of each owner it is queued for, up to a number. */
    queues: `${withQueuedHandlers(names)}
      SELECT ready.tool, 'ready', counted.tasks, counted.since FROM ready CROSS JOIN LATERAL (
        SELECT count(*)::int AS tasks, min(run_after) AS since FROM (
          SELECT run_after FROM ${task}
          WHERE ${isReady} AND owner = ready.owner AND method = ready.method AND tool = ready.tool LIMIT $1) AS seen) AS counted
      UNION ALL
      SELECT waiting.tool, 'parked', counted.tasks, NULL FROM waiting CROSS JOIN LATERAL (
        SELECT count(*)::int AS tasks FROM (
          SELECT 1 FROM ${task}
          WHERE ${isWaiting} AND method = waiting.method AND tool = waiting.tool LIMIT $1) AS seen) AS counted`,
    /** Of about so many pages of the table: the same ones each time, so that numbers do not jump. */
    estimate: `SELECT ${alikeTasks.list()}, CASE WHEN open_inputs > 0 THEN 1 ELSE 0 END,
        CASE WHEN blocked IS NULL THEN 0 ELSE 1 END, round(count(*) * greatest(1, ${pages} / $1::float8))::bigint
      FROM ${task} TABLESAMPLE SYSTEM (least(100, 100 * $1::float8 / greatest(1, ${pages}))) REPEATABLE (0)
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
    failed: `SELECT ${failedTask.list()} FROM ${task} WHERE ${isFailed} AND id < $1 ORDER BY id DESC LIMIT $2`,
    firstOfCause: `SELECT ${failedTask.list()} FROM ${task} WHERE ${ofCause} ORDER BY id LIMIT 1`,
    causeMarks: `SELECT ${causeMarkTable.list()} FROM ${causeMark} ORDER BY cause`,
    insertCauseMark: insertRows(causeMarkTable, causeMark),
    deleteCauseMark: `DELETE FROM ${causeMark} WHERE cause = $1`,
    failedKeys: `SELECT key FROM ${journal} WHERE task_id = $1 AND error IS NOT NULL LIMIT $2`,
    actions: `SELECT ${stored} FROM ${action} WHERE seq < $1 ORDER BY seq DESC LIMIT $2`,
    actionsOf: `SELECT ${stored} FROM ${action} WHERE task_id = $1 AND task_id IS NOT NULL AND seq < $2
      ORDER BY seq DESC LIMIT $3`,
    insertActions: insertRows(actionTable, action),
    /** Deletes a few actions before a time; skips those that others are deleting. */
    deleteOldActions: `DELETE FROM ${action} WHERE seq = ANY (ARRAY(
        SELECT seq FROM ${action} ORDER BY seq LIMIT 10 FOR UPDATE SKIP LOCKED)) AND at < $1`,
    paused: `SELECT ${pausedToolTable.list()} FROM ${pausedTool} ORDER BY tool`,
    insertPaused: `${insertRows(pausedToolTable, pausedTool)} ON CONFLICT (tool) DO NOTHING`,
    deletePaused: `DELETE FROM ${pausedTool} WHERE tool = $1`,
  };
}

export type AdminStatements = ReturnType<typeof adminStatements>;
