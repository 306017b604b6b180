import { generationNames } from "../../task/record.ts";
import {
  journalEntry,
  journalInput,
  keptEvent,
  messageTable,
  smallOutcome,
  queuedMessage,
  requestTable,
} from "../tables/of-task.ts";
import { insertInto, upsertInto } from "../tables/statements.ts";
import { ofEachChange } from "../tables/writes.ts";
import { taskSql } from "../task-reads.ts";
import { tables } from "./admin-sql.ts";
import { sessionTable } from "../tables/tables.ts";
import { finished, isReady, isTried, isWaiting, recordList, taskTable, unfinished } from "../tables/task.ts";

// One constant per operation. Conditions repeat those of the partial indexes word for word, or SQLite could not use them.
// With INDEXED BY, a statement that cannot use its index fails to prepare. That rules out neither a sort nor a search by
// fewer columns than the index has, so test/store/sqlite/query-plans.test.ts expects the plan of each statement.

const allOfTask = recordList();
/** With a plain parameter, SQLite would prepare the statement again at each bind, which costs ten times as much as most statements. */
const atMost = "LIMIT ? + 0";

export const taskStatements = taskSql(tables, "sqlite");

export const selectTaskByIdempotencyKey = `
  SELECT ${allOfTask} FROM task INDEXED BY task_idempotency
  WHERE coalesce(principal, '') = ? AND idempotency_key = ?`;

/** One row per open input, or one without input: a single statement, so one consistent view. */
export const selectTaskWithInputs = `
  SELECT ${allOfTask}, ${journalInput.list("journal")}
  FROM task
  LEFT JOIN journal INDEXED BY journal_open_input ON task.open_inputs > 0 AND journal.task_id = task.id
    AND journal.kind = 'input' AND journal.done_at IS NULL
  WHERE task.id = ?
  ORDER BY journal.place`;

/** The open inputs of the tasks below a root, for each task in the order of the index. */
export const selectChildInputs = `
  SELECT ${allOfTask}, ${journalInput.list("journal")}
  FROM child INDEXED BY child_root JOIN task ON task.id = child.id
  JOIN journal INDEXED BY journal_open_input ON journal.task_id = child.id
    AND journal.kind = 'input' AND journal.done_at IS NULL
  WHERE child.root = ? AND task.open_inputs > 0
  ORDER BY child.id`;

/** Without a large one, of which it gets only the size. */
export const selectSmallOutcome = `SELECT ${smallOutcome} FROM outcome WHERE task_id = ?`;

export const selectRequest = `SELECT ${requestTable.list()} FROM request WHERE task_id = ?`;

const isRunning = `${unfinished} AND state = 'running'`;

/** Without expired ones, of which there may be very many. */
export const selectRunning = `
  SELECT ${allOfTask} FROM task INDEXED BY task_unfinished
  WHERE ${isRunning} AND owner = ? AND (sweep_at IS NULL OR sweep_at > ?) AND id > ? ORDER BY id LIMIT ? + 0`;

/**
 * One seek for each owner with queued tasks, and for each of its handlers, however many tasks there are: comparing pairs of method and tool
 * would scan all tasks of a pair.
 */
export const selectReadyOwner = `
  SELECT owner FROM task INDEXED BY task_ready WHERE ${isReady} AND owner > ? ORDER BY owner LIMIT 1`;
export const selectReadyMethod = `
  SELECT method, tool FROM task INDEXED BY task_ready
  WHERE ${isReady} AND owner = ? AND method > ? ORDER BY method, tool LIMIT 1`;
export const selectReadyTool = `
  SELECT method, tool FROM task INDEXED BY task_ready
  WHERE ${isReady} AND owner = ? AND method = ? AND tool > ? ORDER BY tool LIMIT 1`;
/** Principals in order of their names, after the given one; a number sorts before all of them. */
export const selectReadyPrincipal = `
  SELECT coalesce(principal, '') FROM task INDEXED BY task_ready
  WHERE ${isReady} AND owner = ? AND method = ? AND tool = ? AND coalesce(principal, '') > ?
  ORDER BY coalesce(principal, '') LIMIT 1`;
export const selectReady = `
  SELECT ${allOfTask} FROM task INDEXED BY task_ready
  WHERE ${isReady} AND owner = ? AND method = ? AND tool = ? AND coalesce(principal, '') = ? AND lane = ?
    AND (run_after, id) > (?, ?) ORDER BY run_after, id ${atMost}`;

/** A principal's tasks in a lane that no store writes. */
export const selectReadyDamaged = `
  SELECT ${allOfTask} FROM task INDEXED BY task_ready
  WHERE ${isReady} AND owner = ? AND method = ? AND tool = ? AND coalesce(principal, '') = ?
    AND lane NOT IN ('new', 'woken', 'recovered', 'suspect')`;

/** A suspect that runs. */
export const selectTried = `SELECT 1 FROM task INDEXED BY task_tried WHERE ${isTried} AND waiting = 0 LIMIT 1`;

/** The running tasks of a handler that count for its limit. */
export const countLimited = `
  SELECT count(*) AS count FROM task INDEXED BY task_limited
  WHERE state = 'running' AND limited = 1 AND method = ? AND tool = ?`;

/** The same for waiting tasks, of all owners. */
export const selectParkedMethod = `
  SELECT method, tool FROM task INDEXED BY task_parked
  WHERE ${isWaiting} AND method > ? ORDER BY method, tool LIMIT 1`;
export const selectParkedTool = `
  SELECT method, tool FROM task INDEXED BY task_parked
  WHERE ${isWaiting} AND method = ? AND tool > ? ORDER BY tool LIMIT 1`;
/** Up to a time. */
export const selectParked = `
  SELECT ${allOfTask} FROM task INDEXED BY task_parked
  WHERE ${isWaiting} AND method = ? AND tool = ? AND run_after <= ? AND (run_after, id) > (?, ?)
  ORDER BY run_after, id ${atMost}`;
/** The first time between two times. */
export const selectNextWake = `
  SELECT run_after AS at FROM task INDEXED BY task_parked
  WHERE ${isWaiting} AND method = ? AND tool = ? AND run_after > ? AND run_after < ? ORDER BY run_after LIMIT 1`;

export const selectChildren = `
  SELECT ${allOfTask} FROM child INDEXED BY child_parent JOIN task ON task.id = child.id
  WHERE child.parent = ? AND ${unfinished} ORDER BY child.id`;
export const selectEndedBelow = `
  SELECT child.id FROM child INDEXED BY child_root JOIN task ON task.id = child.id WHERE child.root = ? AND ${finished}`;
export const selectFirstEvent = `
  SELECT ${keptEvent.list()} FROM event INDEXED BY event_kept
  WHERE task_id = ? AND name = ? AND value IS NOT NULL ORDER BY seq LIMIT 1`;
/** The first wait whose time is not over. */
export const selectFirstEventWait = `
  SELECT ${journalEntry.list()} FROM journal INDEXED BY journal_open_event
  WHERE task_id = ? AND kind = 'event' AND done_at IS NULL AND request = ? AND (deadline_at IS NULL OR deadline_at > ?)
  ORDER BY place LIMIT 1`;
export const selectKnownEvent = `
  SELECT 1 FROM event INDEXED BY event_dedupe WHERE task_id = ? AND dedupe_id IS NOT NULL AND dedupe_id = ?`;
export const countEvents =
  "SELECT count(*) AS count FROM event INDEXED BY event_kept WHERE task_id = ? AND value IS NOT NULL";

export const selectOwners = "SELECT id, pid, host, since, handlers, retired, drain_until FROM owner";
/** Owners whose tasks did not go to others. Read at the beginning of every transaction. */
export const selectOwnerIds = "SELECT id FROM owner WHERE retired = 0";
export const insertOwner = `
  INSERT INTO owner (id, pid, host, since, handlers) VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?)`;
export const updateHandlers = "UPDATE owner SET handlers = ? WHERE id = ?";
export const drainOwner = "UPDATE owner SET drain_until = ? WHERE id = ?";
export const retireOwner = "UPDATE owner SET retired = 1 WHERE id = ?";
/** Not while a task that it ran may still have to be returned: a due cancel can be withdrawn. */
export const deleteOwner = `
  DELETE FROM owner WHERE id = ? AND NOT EXISTS (
    SELECT 1 FROM task INDEXED BY task_unfinished
    WHERE ${isRunning} AND task.owner = owner.id AND task.id > '' AND (sweep_at IS NULL OR sweep_at > ? OR cancel_by IS NOT NULL))`;

/** The newest first: it was written last. */
export const selectMark = "SELECT seq FROM change WHERE message = ? ORDER BY seq DESC LIMIT 1";
export const insertChange =
  "INSERT INTO change (owner, task_id, version, session, message) VALUES (?, ?, ?, ?, ?)";
/** The newest always stays, so that its number is not assigned again. */
export const deleteOldChanges = "DELETE FROM change WHERE seq <= (SELECT max(seq) FROM change) - ?";
/** If only one owner is left, nobody reads them any more. */
export const deleteChangesForNobody = `
  DELETE FROM change WHERE seq < (SELECT max(seq) FROM change) AND (SELECT count(*) FROM owner WHERE retired = 0) <= 1`;
export const selectLastChange = "SELECT max(seq) AS seq FROM change";
export const selectChanges =
  "SELECT seq, owner, task_id, version, session, message FROM change WHERE seq > ? ORDER BY seq";

export const selectDeletable = `
  SELECT id FROM task INDEXED BY task_deletable
  WHERE ${finished} AND sweep_at IS NOT NULL AND sweep_at <= ? ORDER BY sweep_at, id ${atMost}`;

const isAhead = "sweep_at > ? AND sweep_at <= ?";

/** Only damaged rows have a time beyond the latest one, and no readable row has to wait for it. */
export const selectNextSweep = `
  SELECT min(at) AS at FROM (
    SELECT min(sweep_at) AS at FROM task INDEXED BY task_due WHERE ${unfinished} AND sweep_at IS NOT NULL AND ${isAhead}
    UNION ALL
    SELECT min(sweep_at) AS at FROM task INDEXED BY task_deletable WHERE ${finished} AND sweep_at IS NOT NULL AND ${isAhead})`;

export const insertTask = insertInto(taskTable);

const updates = new Map<string, string>();

/** Of these columns. */
export function updateTask(columns: readonly string[]): string {
  const key = columns.join(" ");
  let text = updates.get(key);
  if (text === undefined) {
    text = `UPDATE task SET ${columns.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
    updates.set(key, text);
  }
  return text;
}

export const selectSecret = "SELECT value FROM secret WHERE name = ?";
export const selectHasTask = "SELECT 1 FROM task WHERE id = ?";
export const insertMessage = insertInto(messageTable);
export const countMessages = "SELECT count(*) AS count FROM message WHERE task_id = ?";
/** Messages bound to another owner are useless to this one. */
const isTaken = "(owner IS NULL OR owner = ?)";
/** A limit below 0 means none. */
export const selectMessages = `SELECT ${queuedMessage.list()} FROM message WHERE task_id = ? AND ${isTaken} ORDER BY seq ${atMost}`;
export const deleteMessagesTo = `DELETE FROM message WHERE task_id = ? AND ${isTaken} AND seq <= ?`;
export const deleteMessagesOfOwner = "DELETE FROM message INDEXED BY message_owner WHERE owner = ?";

/** The changes of rows that commands write. */
export const rows = ofEachChange(({ sqlite }) => sqlite);

export const selectUsage = "SELECT unfinished, retained FROM usage WHERE owner = ?";
export const replaceUsage = "INSERT OR REPLACE INTO usage (owner, unfinished, retained) VALUES (?, ?, ?)";

/** What `usage` must contain. Tasks of tasks are few, and not counted. */
export const countTasks = `
  SELECT (SELECT count(*) FROM task INDEXED BY task_unfinished WHERE ${unfinished})
      - (SELECT count(*) FROM child CROSS JOIN task ON task.id = child.id WHERE task.${unfinished}) AS unfinished,
    (SELECT count(*) FROM task INDEXED BY task_generation)
      - (SELECT count(*) FROM child CROSS JOIN task ON task.id = child.id) AS retained`;

/** The same for a principal. */
export const countTasksOf = `
  SELECT count(*) FILTER (WHERE ${unfinished}) AS unfinished, count(*) AS retained FROM task INDEXED BY task_owner
  WHERE generation IN (${generationNames.map((name) => `'${name}'`).join(", ")}) AND principal = ? AND parent IS NULL`;

export const insertSession = upsertInto(sessionTable);
export const extendSession = "UPDATE session SET expires_at = ? WHERE id = ? AND expires_at < ?";
export const deleteSession = "DELETE FROM session WHERE id = ?";
export const deleteUnextendedSession = "DELETE FROM session WHERE id = ? AND expires_at <= ?";

export const deleteExpiredSessions = `
  DELETE FROM session WHERE id IN (
    SELECT id FROM session INDEXED BY session_expiry WHERE expires_at <= ? ORDER BY expires_at ${atMost})`;

/** The sessions of one principal that end first. */
export const deleteFirstSessions = `
  DELETE FROM session WHERE id IN (
    SELECT id FROM session INDEXED BY session_principal WHERE principal IS ? ORDER BY expires_at ${atMost})
  RETURNING id`;

export const countSessions = "SELECT count(*) AS count FROM session INDEXED BY session_expiry";
export const countSessionsOfPrincipal = `
  SELECT count(*) AS count FROM session INDEXED BY session_principal WHERE principal IS ?`;
export const selectSessionHolders = `
  SELECT principal, count(*) AS count FROM session INDEXED BY session_principal GROUP BY principal`;
