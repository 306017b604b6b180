/** What the writes of commands do to rows: each change of a row is declared once, with its statements for both databases. */

import { saysNothing } from "../../task/cause.ts";
import { type Codec, inClear, storedOrNull, toStored } from "../row.ts";
import { mostPieces } from "../left-pieces.ts";
import type { TableWrite } from "../table-write.ts";
import type { OutboxWrite } from "../outbox.ts";
import type { Stored } from "./kind.ts";
import {
  childOf,
  childTable,
  eventTable,
  journalTable,
  lineTable,
  messageTable,
  outcomeTable,
  pieceTable,
  placeOf,
  requestTable,
  storedOutcome,
} from "./of-task.ts";
import { deletion, insertion, type RowChange, update, upsertion } from "./statements.ts";
import {
  actionsKeptMs,
  actionTable,
  bulkJobTable,
  bulkTaskTable,
  causeMarkTable,
  deliveryTable,
  newDelivery,
  pausedToolTable,
  secretTable,
} from "./tables.ts";
import { taskTable } from "./task.ts";

const ofTask = { task_id: "text" } as const;
const ofEntry = { task_id: "text", key: "text" } as const;
const ofSeq = { seq: "integer" } as const;
const ofTry = { seq: "integer", tries: "integer" } as const;

/**
 * Some pieces at a time. What is left of an artifact that is not deleted is behind its end, and goes with its task. `found` joins the
 * artifacts, and `of` says which pieces of a table `piece` it finds.
 */
function somePieces(
  key: number,
  sqlite: string,
  postgres: (piece: string, journal: string) => string,
): RowChange {
  return {
    table: pieceTable,
    does: "delete",
    key,
    sqlite: `DELETE FROM piece WHERE task_id = ?1 AND ${sqlite} LIMIT ${mostPieces})`,
    postgres: (named) => {
      const piece = named("piece");
      const found = postgres(piece, named("journal"));
      return `DELETE FROM ${piece} WHERE ctid = ANY(ARRAY(SELECT piece.ctid FROM ${found} LIMIT ${mostPieces}))`;
    },
  };
}

const ended = "('input', 'call', 'event') AND journal.done_at IS NOT NULL";

/**
 * In the order in which a group of commands makes them: the deletes of a task first, since a new one may have its key. The task itself goes
 * last.
 */
export const rowChanges = {
  deleteMessages: deletion(messageTable, ofTask),
  deleteLines: deletion(lineTable, ofTask),
  deletePieces: somePieces(
    1,
    "(key, seq) IN (SELECT key, seq FROM piece WHERE task_id = ?1",
    (piece) => `${piece} AS piece WHERE piece.task_id = ANY($1::text[])`,
  ),
  deleteEvents: deletion(eventTable, ofTask),
  deleteJournal: deletion(journalTable, ofTask),
  deleteOutcome: deletion(outcomeTable, ofTask),
  deleteRequest: deletion(requestTable, ofTask),
  deleteTask: deletion(taskTable, { id: "text" }),
  deleteChild: deletion(childTable, { id: "text" }),

  insertRequest: insertion(requestTable),
  insertChild: insertion(childTable),
  deletePiecesOf: somePieces(
    2,
    "key = ?2 AND seq IN (SELECT seq FROM piece WHERE task_id = ?1 AND key = ?2",
    (piece) => `${piece} AS piece JOIN unnest($1::text[], $2::text[]) AS given (task_id, key)
      ON piece.task_id = given.task_id AND piece.key = given.key`,
  ),
  insertPiece: upsertion(pieceTable),
  /** Failed entries, and steps that wait for a retry. */
  deleteFailures: deletion(
    journalTable,
    ofTask,
    "task_id = given.task_id AND kind IN ('step', 'call', 'artifact') AND (error IS NOT NULL OR (kind = 'step' AND done_at IS NULL))",
  ),
  /** Of the rounds of a loop, by what their keys begin with: what the handler itself ends, and what has ended. */
  deleteRounds: deletion(
    journalTable,
    { task_id: "text", under: "text" },
    `journal.task_id = given.task_id AND substr(journal.key, 1, length(given.under)) = given.under
      AND (journal.kind IN ('step', 'sleep') OR (journal.kind IN ${ended}))`,
  ),
  deleteEntry: deletion(journalTable, ofEntry),
  /** On a conflict `place` stays, and with it the order of first writes. */
  upsertJournal: upsertion(journalTable),
  insertOutcome: insertion(outcomeTable),
  insertEvent: insertion(eventTable),
  forgetEvent: update(eventTable, ofSeq, ["seq"], "value = NULL", "dedupe_id IS NOT NULL"),
  deleteEvent: deletion(eventTable, ofSeq, "seq = given.seq AND dedupe_id IS NULL"),
  insertLine: upsertion(lineTable),
  deleteLine: deletion(
    lineTable,
    { task_id: "text", seq: "integer" },
    "line.task_id = given.task_id AND line.list = 'log' AND line.seq = given.seq",
  ),
  /** Of artifacts that have not ended. */
  deleteOpenPieces: somePieces(
    1,
    `(key, seq) IN (
      SELECT piece.key, piece.seq FROM journal CROSS JOIN piece ON piece.task_id = journal.task_id AND piece.key = journal.key
      WHERE journal.task_id = ?1 AND kind = 'artifact' AND done_at IS NULL`,
    (piece, journal) => `${piece} AS piece
      JOIN ${journal} AS journal ON journal.task_id = piece.task_id AND journal.key = piece.key
      WHERE piece.task_id = ANY($1::text[]) AND journal.kind = 'artifact' AND journal.done_at IS NULL`,
  ),

  deleteCauseMark: deletion(causeMarkTable, { cause: "text" }),
  upsertCauseMark: upsertion(causeMarkTable),
  deletePaused: deletion(pausedToolTable, { tool: "text" }),
  insertPaused: insertion(pausedToolTable, " ON CONFLICT (tool) DO NOTHING"),
  /** A few actions before a time. */
  deleteOldActions: {
    table: actionTable,
    does: "delete",
    key: 1,
    sqlite: "DELETE FROM action WHERE seq IN (SELECT seq FROM action ORDER BY seq LIMIT 10) AND at < ?1",
    /** Skips those that others are deleting. */
    postgres: (named) => `DELETE FROM ${named("action")} WHERE seq = ANY (ARRAY(
        SELECT seq FROM ${named("action")} ORDER BY seq LIMIT 10 FOR UPDATE SKIP LOCKED)) AND at < ANY($1::bigint[])`,
  },
  insertAction: insertion(actionTable),

  insertDelivery: insertion(deliveryTable),
  takeDelivery: update(
    deliveryTable,
    { seq: "integer", until: "integer" },
    ["seq"],
    "due_at = given.until, tries = delivery.tries + 1",
  ),
  retryDelivery: update(
    deliveryTable,
    {
      seq: "integer",
      tries: "integer",
      due_at: "integer",
      failed_at: "integer",
      problem: "text",
      unsent: "integer",
    },
    ["seq", "tries"],
    `due_at = given.due_at, failed_at = coalesce(given.failed_at, delivery.failed_at),
      problem = coalesce(given.problem, delivery.problem), tries = delivery.tries - given.unsent`,
  ),
  resendDelivery: update(
    deliveryTable,
    { seq: "integer", due_at: "integer" },
    ["seq"],
    "due_at = given.due_at",
  ),
  endDelivery: deletion(deliveryTable, ofTry),
  dropDelivery: deletion(deliveryTable, ofSeq),

  /** Fails in Postgres if another process was first, whose secret then counts. */
  insertSecret: insertion(secretTable),
  updateSecret: update(secretTable, { name: "text", value: "text" }, ["name"], "value = given.value"),
  deleteSecret: deletion(secretTable, { name: "text" }),

  upsertBulkJob: upsertion(bulkJobTable),
  insertBulkTask: insertion(bulkTaskTable),
  endBulkTask: update(
    bulkTaskTable,
    { job: "text", place: "integer", ended_as: "text", created: "text", code: "text", message: "text" },
    ["job", "place"],
    "ended_as = given.ended_as, created = given.created, code = given.code, message = given.message",
    "bulk_task.ended_as IS NULL",
  ),
  deleteBulkTasks: deletion(bulkTaskTable, { job: "text" }),
  deleteBulkJob: deletion(bulkJobTable, { id: "text" }),
} as const satisfies Readonly<Record<string, RowChange>>;

export type RowChangeName = keyof typeof rowChanges;

export const rowChangeNames = Object.keys(rowChanges) as readonly RowChangeName[];

/** Something of each change of rows, such as its statement. */
export function ofEachChange<T>(
  of: (change: RowChange, name: RowChangeName) => T,
): Readonly<Record<RowChangeName, T>> {
  const all = rowChangeNames.map((name): [string, T] => [name, of(rowChanges[name], name)]);
  return Object.fromEntries(all) as Record<RowChangeName, T>;
}

/** Called with the values of the change of a row. */
type Change = (name: RowChangeName, values: readonly Stored[]) => void;

/** What a write does, except to the row of a task itself that it inserts or saves, and to owners. */
export function changeRows(write: TableWrite, codec: Codec, change: Change): void {
  switch (write.do) {
    case "insert": {
      const { task, request } = write;
      change("insertRequest", requestTable.values(task.id, request, codec));
      if (task.parent !== null)
        change("insertChild", childTable.values(task.id, childOf(task.id, task.parent), inClear));
      return;
    }
    case "save":
      return save(write, codec, change);
    case "append_lines":
      for (const line of write.lines) change("insertLine", lineTable.values(write.id, line, codec));
      for (const seq of write.forget) change("deleteLine", [toStored(write.id), seq]);
      return;
    case "change_pieces": {
      const { id, change: piece } = write;
      if (piece.do === "drop_open") return change("deleteOpenPieces", [toStored(id)]);
      if (piece.do === "drop" || piece.seq === 0)
        change("deletePiecesOf", [toStored(id), toStored(piece.key)]);
      if (piece.do === "write") change("insertPiece", pieceTable.values(id, piece, codec));
      return;
    }
    case "remove":
      for (const name of deletesOfTask) change(name, [toStored(write.id)]);
      if (write.isChild) change("deleteChild", [toStored(write.id)]);
      return;
    case "keep_event": {
      const { taskId, name, dedupeId } = write;
      const value = write.taken ? null : write.value;
      return change("insertEvent", eventTable.values(taskId, { name, value, dedupeId }, codec));
    }
    case "take_event":
      change("forgetEvent", [write.seq]);
      return change("deleteEvent", [write.seq]);
    case "keep_secret":
      return change("insertSecret", [toStored(write.name), toStored(write.value)]);
    case "replace_secret":
      return write.value === null
        ? change("deleteSecret", [toStored(write.name)])
        : change("updateSecret", [toStored(write.name), toStored(write.value)]);
    case "keep_action":
      change("deleteOldActions", [write.action.at - actionsKeptMs]);
      return change("insertAction", actionTable.values("", write.action, inClear));
    case "pause_tool":
      return change("insertPaused", pausedToolTable.values("", write.paused, inClear));
    case "resume_tool":
      return change("deletePaused", [toStored(write.tool)]);
    case "mark_cause": {
      const { mark } = write;
      return saysNothing(mark)
        ? change("deleteCauseMark", [toStored(mark.cause)])
        : change("upsertCauseMark", causeMarkTable.values(mark.cause, mark, codec));
    }
    case "save_bulk_job":
      return change("upsertBulkJob", bulkJobTable.values(write.job.id, write.job, codec));
    case "add_bulk_tasks":
      for (const task of write.tasks) change("insertBulkTask", bulkTaskTable.values("", task, inClear));
      return;
    case "end_bulk_task": {
      const { job, place, endedAs, created, code, message } = write.task;
      const said = [created, code, message].map(storedOrNull);
      return change("endBulkTask", [toStored(job), place, endedAs, ...said]);
    }
    case "delete_bulk":
      change("deleteBulkTasks", [toStored(write.id)]);
      return change("deleteBulkJob", [toStored(write.id)]);
    case "write_outbox":
      return changeOutbox(write.write, change);
    case "retire_owner":
    case "drain_owner":
  }
}

const deletesOfTask = rowChangeNames.slice(0, rowChangeNames.indexOf("deleteChild"));

function save(
  { task, journal, forgets, outcome }: Extract<TableWrite, { do: "save" }>,
  codec: Codec,
  change: Change,
): void {
  const { id } = task;
  if (forgets === "failures") change("deleteFailures", [toStored(id)]);
  else if (forgets !== undefined) {
    change("deleteRounds", [toStored(id), toStored(forgets.under)]);
    for (const key of forgets.open) change("deleteEntry", [toStored(id), toStored(key)]);
  }
  for (const [index, entry] of journal.entries())
    change("upsertJournal", journalTable.values(id, { ...entry, place: placeOf(task, index) }, codec));
  if (outcome !== null) change("insertOutcome", outcomeTable.values(id, storedOutcome(outcome), codec));
}

function changeOutbox(write: OutboxWrite, change: Change): void {
  switch (write.do) {
    case "keep_delivery":
      return change("insertDelivery", deliveryTable.values("", newDelivery(write.delivery), inClear));
    case "claim_delivery":
      return change("takeDelivery", [write.seq, write.until]);
    case "retry_delivery": {
      const { seq, tries, at, unsent, failure } = write;
      const problem = failure === undefined ? null : toStored(failure.problem);
      return change("retryDelivery", [seq, tries, at, failure?.at ?? null, problem, Number(unsent)]);
    }
    case "resend_delivery":
      return change("resendDelivery", [write.seq, write.now]);
    case "end_delivery":
      return change("endDelivery", [write.seq, write.tries]);
    case "drop_delivery":
      return change("dropDelivery", [write.seq]);
  }
}
