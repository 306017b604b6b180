import * as sql from "./sql.ts";
import { limitStatements } from "./sqlite-limits.ts";

/** The finished tasks of a principal. */
export const selectEnded = "SELECT id FROM task WHERE principal = ? AND state IN ('settled', 'cancelled')";

/** Tasks that were created meanwhile, or are unreadable. */
export const selectLeft = "SELECT id FROM task WHERE principal = ? ORDER BY id LIMIT 100";

/** By table. The task itself goes last, so that an interrupted deletion can be resumed. */
export const deletesOfTask: Readonly<Record<string, string>> = {
  message: sql.deleteMessages,
  line: sql.deleteLines,
  piece: sql.deleteAllPieces,
  event: sql.deleteEvents,
  journal: sql.deleteJournal,
  outcome: sql.deleteOutcome,
  request: sql.deleteRequest,
  child: sql.deleteChild,
  action: "DELETE FROM action WHERE task_id = ?",
  bulk_task: "DELETE FROM bulk_task WHERE task_id = ?",
  limit_place: limitStatements.deleteOfTask,
  task: sql.deleteTask,
};

/** Of tasks that were deleted before. */
export const deleteLeftPieces = "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM task WHERE id = task_id)";

/** Also for deleted tasks, and for the end of tasks that were cancelled for this. */
export const deletesOfPrincipal: Readonly<Record<string, string>> = {
  session: "DELETE FROM session WHERE principal = ?",
  delivery: "DELETE FROM delivery WHERE principal = ?",
  bulk_job: "DELETE FROM bulk_job WHERE principal = ?",
};

/** All but the newest, whose number the next one follows. */
export const deleteAllButNewestChange = "DELETE FROM change WHERE seq < (SELECT max(seq) FROM change)";
