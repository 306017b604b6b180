import * as sql from "./sql.ts";

/** Those of a principal that have ended. */
export const selectEnded = "SELECT id FROM task WHERE principal = ? AND state IN ('settled', 'cancelled')";

/** Tasks that were made meanwhile, or cannot be read. */
export const selectLeft = "SELECT id FROM task WHERE principal = ? ORDER BY id LIMIT 100";

/** By the tables, in an order in which what is left of a task, if it is cut off, is found again: the task itself goes last. */
export const deletesOfTask: Readonly<Record<string, string>> = {
  message: sql.deleteMessages,
  line: sql.deleteLines,
  event: sql.deleteEvents,
  journal: sql.deleteJournal,
  outcome: sql.deleteOutcome,
  request: sql.deleteRequest,
  child: sql.deleteChild,
  action: "DELETE FROM action WHERE task_id = ?",
  task: sql.deleteTask,
};

/** Also of tasks that are gone, and what was to be told of the end of those that were cancelled for this. */
export const deletesOfPrincipal: Readonly<Record<string, string>> = {
  session: "DELETE FROM session WHERE principal = ?",
  delivery: "DELETE FROM delivery WHERE principal = ?",
};

/** All but the newest, whose number the next one follows. */
export const deleteTold = "DELETE FROM change WHERE seq < (SELECT max(seq) FROM change)";
