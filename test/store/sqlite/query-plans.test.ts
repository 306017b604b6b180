import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import * as adminSql from "../../../src/store/sqlite/admin-sql.ts";
import * as sql from "../../../src/store/sqlite/sql.ts";
import { limitStatements } from "../../../src/store/sqlite/sqlite-limits.ts";

/** Under names of their own among all others. */
function named(group: string, of: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(of).map(([name, text]) => [`${group}.${name}`, text]));
}

const { rows, ...ownSql } = sql;

const statements = new Map<string, string>(
  Object.entries({
    ...ownSql,
    ...adminSql,
    ...named("limit", limitStatements),
    ...named("rows", rows),
    updateTask: sql.updateTask(["state", "version"]),
  }),
);

/** How each statement finds its rows: by which index, and by how many of its columns. An insert alone finds none. */
const plans: Readonly<Record<string, readonly string[]>> = {
  "limit.lock": [],
  "limit.save": ["limit_line INDEX sqlite_autoindex_limit_line_1 (name=?)"],
  "limit.end": ["limit_place INDEX limit_place_task (task_id=? AND name=? AND entry=?)"],
  "limit.leave": ["limit_place INDEX limit_place_task (task_id=? AND name=? AND entry=?)"],
  "limit.endDead": [
    "limit_place INDEX limit_place_phase (name=? AND phase=?)",
    "owner PRIMARY KEY (id=?)",
    "task PRIMARY KEY (id=?)",
    "task PRIMARY KEY (id=?)",
  ],
  "limit.find": [
    "limit_place INDEX limit_place_task (task_id=? AND name=? AND entry=?)",
    "owner PRIMARY KEY (id=?)",
    "task PRIMARY KEY (id=?)",
  ],
  "limit.join": ["limit_place INDEX limit_place_turn (name=? AND turn_of=? AND ticket>?)"],
  "limit.rejoin": ["limit_place INTEGER PRIMARY KEY (rowid=?)"],
  "limit.take": ["limit_place INTEGER PRIMARY KEY (rowid=?)"],
  "limit.grant": ["limit_place INTEGER PRIMARY KEY (rowid=?)"],
  "limit.putAside": ["limit_place INTEGER PRIMARY KEY (rowid=?)"],
  "limit.countHeld": ["limit_place INDEX limit_place_phase (name=? AND phase=?)"],
  "limit.starts": ["limit_place INDEX limit_place_start (name=? AND since>?)"],
  "limit.waiting": [
    "limit_place INDEX limit_place_phase (name=? AND phase=?)",
    "owner PRIMARY KEY (id=?)",
    "task PRIMARY KEY (id=?)",
  ],
  "limit.granted": [
    "limit_place INDEX limit_place_phase (name=? AND phase=?)",
    "owner PRIMARY KEY (id=?)",
    "task PRIMARY KEY (id=?)",
  ],
  "limit.countOwn": ["limit_place INDEX limit_place_phase (name=? AND phase=?)"],
  "limit.deleteEnded": [
    "limit_place INDEX limit_place_phase (name=? AND phase=?)",
    "task PRIMARY KEY (id=?)",
  ],
  "limit.setBack": ["limit_place INDEX limit_place_phase (name=?)"],
  "limit.deletePast": [
    "limit_place INTEGER PRIMARY KEY (rowid=?)",
    "limit_place INDEX limit_place_past (since<?)",
  ],
  "limit.deleteLines": [
    "limit_line INDEX sqlite_autoindex_limit_line_1 (name=?)",
    "limit_line INDEX limit_line_last (last_at<?)",
    "limit_place INDEX limit_place_phase (name=?)",
  ],
  "limit.ofTask": ["limit_place INDEX limit_place_task (task_id=?)"],
  "limit.deleteOfTask": ["limit_place INDEX limit_place_task (task_id=?)"],
  countSessions: ["SCAN session INDEX session_expiry"],
  countReady: ["task INDEX task_ready (owner=? AND method=? AND tool=?)"],
  countParked: ["task INDEX task_parked (method=? AND tool=? AND run_after>?)"],
  countSessionsOfPrincipal: ["session INDEX session_principal (principal=?)"],
  countTasks: [
    "SCAN task INDEX task_unfinished",
    "SCAN child INDEX child_root",
    "task PRIMARY KEY (id=?)",
    "SCAN task INDEX task_generation",
    "SCAN child INDEX child_root",
    "task PRIMARY KEY (id=?)",
  ],
  countTasksOf: ["task INDEX task_owner (generation=? AND principal=?)"],
  replaceUsage: [],
  countLimited: ["task INDEX task_limited (method=? AND tool=?)"],
  countMessages: ["message INDEX message_queue (task_id=?)"],
  deleteExpiredSessions: ["session PRIMARY KEY (id=?)", "session INDEX session_expiry (expires_at<?)"],
  deleteFirstSessions: ["session PRIMARY KEY (id=?)", "session INDEX session_principal (principal=?)"],
  deleteSession: ["session PRIMARY KEY (id=?)"],
  deleteUnextendedSession: ["session PRIMARY KEY (id=?)"],
  extendSession: ["session PRIMARY KEY (id=?)"],
  "rows.deleteJournal": ["journal PRIMARY KEY (task_id=?)"],
  "rows.deleteMessages": ["message INDEX message_queue (task_id=?)"],
  deleteMessagesOfOwner: ["message INDEX message_owner (owner=?)"],
  deleteMessagesTo: ["message INDEX message_queue (task_id=? AND seq<?)"],
  deleteChangesForNobody: ["change INTEGER PRIMARY KEY (rowid<?)"],
  deleteOldChanges: ["change INTEGER PRIMARY KEY (rowid<?)"],
  "rows.deleteLine": ["line PRIMARY KEY (task_id=? AND list=? AND seq=?)"],
  deleteAllPieces: ["piece PRIMARY KEY (task_id=?)"],
  "rows.deletePieces": ["piece PRIMARY KEY (task_id=? AND key=? AND seq=?)", "piece PRIMARY KEY (task_id=?)"],
  "rows.deletePiecesOf": [
    "piece PRIMARY KEY (task_id=? AND key=? AND seq=?)",
    "piece PRIMARY KEY (task_id=? AND key=?)",
  ],
  "rows.deleteOpenPieces": [
    "piece PRIMARY KEY (task_id=? AND key=? AND seq=?)",
    "journal PRIMARY KEY (task_id=?)",
    "piece PRIMARY KEY (task_id=? AND key=?)",
  ],
  "rows.deleteLines": ["line PRIMARY KEY (task_id=?)"],
  "rows.deleteOutcome": ["outcome PRIMARY KEY (task_id=?)"],
  deleteOwner: ["owner PRIMARY KEY (id=?)", "task INDEX task_unfinished (id>?)"],
  "rows.deleteRequest": ["request PRIMARY KEY (task_id=?)"],
  "rows.deleteSecret": ["secret PRIMARY KEY (name=?)"],
  "rows.deleteTask": ["task PRIMARY KEY (id=?)"],
  insertChange: [],
  "rows.insertLine": [],
  "rows.insertPiece": [],
  insertMessage: [],
  "rows.insertOutcome": [],
  insertOwner: [],
  "rows.insertRequest": [],
  "rows.insertSecret": [],
  insertSession: [],
  insertTask: [],
  retireOwner: ["owner PRIMARY KEY (id=?)"],
  drainOwner: ["owner PRIMARY KEY (id=?)"],
  selectMark: [],
  selectChanges: ["change INTEGER PRIMARY KEY (rowid>?)"],
  selectDeletable: ["task INDEX task_deletable (sweep_at>? AND sweep_at<?)"],
  selectDue: ["task INDEX task_due (sweep_at>? AND sweep_at<?)"],
  selectHasTask: ["task PRIMARY KEY (id=?)"],
  selectIdByWireId: [
    "task INDEX task_wire_id (generation=? AND scope=? AND wire_id=?)",
    "task PRIMARY KEY (id=?)",
  ],
  selectJournal: ["journal PRIMARY KEY (task_id=? AND key>?)"],
  selectJournalEnd: ["journal PRIMARY KEY (task_id=? AND key=?)"],
  selectJournalEntry: ["journal PRIMARY KEY (task_id=? AND key=?)"],
  selectLastChange: [],
  selectPieceOwner: ["piece PRIMARY KEY (task_id>?)", "task PRIMARY KEY (id=?)"],
  selectPiece: ["piece PRIMARY KEY (task_id=? AND key=? AND seq=?)"],
  selectLines: ["line PRIMARY KEY (task_id=? AND list=? AND seq>?)"],
  selectMessages: ["message INDEX message_queue (task_id=?)"],
  selectNextWake: ["task INDEX task_parked (method=? AND tool=? AND run_after>? AND run_after<?)"],
  selectNextSweep: [
    "task INDEX task_due (sweep_at>? AND sweep_at<?)",
    "task INDEX task_deletable (sweep_at>? AND sweep_at<?)",
  ],
  selectKeyed: ["task INDEX task_idempotency (<expr>=? AND idempotency_key>? AND idempotency_key<?)"],
  selectOfGeneration: ["task INDEX task_generation (generation=? AND id<?)"],
  selectOfScope: ["task INDEX task_scope (generation=? AND scope=? AND id<?)"],
  selectOwned: ["task INDEX task_owner (generation=? AND principal=? AND id<?)"],
  selectOutcomeBody: ["outcome PRIMARY KEY (task_id=?)"],
  selectSmallOutcome: ["outcome PRIMARY KEY (task_id=?)"],
  selectOwnerIds: [],
  selectOwners: [],
  selectParked: ["task INDEX task_parked (method=? AND tool=? AND (run_after,id)>(?,?) AND run_after<?)"],
  selectParkedMethod: ["task INDEX task_parked (method>?)"],
  selectParkedTool: ["task INDEX task_parked (method=? AND tool>?)"],
  selectReady: [
    "task INDEX task_ready (owner=? AND method=? AND tool=? AND <expr>=? AND lane=? AND (run_after,id)>(?,?))",
  ],
  selectReadyDamaged: ["task INDEX task_ready (owner=? AND method=? AND tool=? AND <expr>=? AND lane>?)"],
  selectReadyPrincipal: ["task INDEX task_ready (owner=? AND method=? AND tool=? AND <expr>>?)"],
  selectReadyMethod: ["task INDEX task_ready (owner=? AND method>?)"],
  selectReadyOwner: ["task INDEX task_ready (owner>?)"],
  selectReadyTool: ["task INDEX task_ready (owner=? AND method=? AND tool>?)"],
  selectRequest: ["request PRIMARY KEY (task_id=?)"],
  selectRunning: ["task INDEX task_unfinished (id>?)"],
  selectSecret: ["secret PRIMARY KEY (name=?)"],
  selectSecrets: ["secret PRIMARY KEY (name<?)"],
  selectSecretsIn: ["secret PRIMARY KEY (name>? AND name<?)"],
  selectTaskWithInputs: ["task PRIMARY KEY (id=?)", "journal INDEX journal_open_input (task_id=?) LEFT-JOIN"],
  countEvents: ["event INDEX event_kept (task_id=?)"],
  "rows.deleteChild": ["child PRIMARY KEY (id=?)"],
  "rows.deleteEvents": ["event INDEX event_task (task_id=?)"],
  "rows.deleteFailures": ["journal PRIMARY KEY (task_id=?)"],
  "rows.deleteRounds": ["journal PRIMARY KEY (task_id=?)"],
  "rows.deleteEntry": ["journal PRIMARY KEY (task_id=? AND key=?)"],
  "rows.deleteEvent": ["event INTEGER PRIMARY KEY (rowid=?)"],
  "rows.insertChild": [],
  "rows.insertEvent": [],
  selectChildInputs: [
    "child INDEX child_root (root=?)",
    "task PRIMARY KEY (id=?)",
    "journal INDEX journal_open_input (task_id=?)",
  ],
  selectChildren: ["child INDEX child_parent (parent=?)", "task PRIMARY KEY (id=?)"],
  selectFirstEvent: ["event INDEX event_kept (task_id=? AND name=?)"],
  selectFirstEventWait: ["journal INDEX journal_open_event (task_id=? AND request=?)"],
  selectKnownEvent: ["event INDEX event_dedupe (task_id=? AND dedupe_id=?)"],
  "rows.updateSecret": ["secret PRIMARY KEY (name=?)"],
  "rows.forgetEvent": ["event INTEGER PRIMARY KEY (rowid=?)"],
  selectSession: ["session PRIMARY KEY (id=?)"],
  selectSessionHolders: ["SCAN session INDEX session_principal"],
  selectTasksOfRequest: ["request INDEX request_session (session=? AND request_id=?)"],
  selectTasksOfSession: ["request INDEX request_session (session=?)", "task PRIMARY KEY (id=?)"],
  selectTask: ["task PRIMARY KEY (id=?)"],
  selectTaskByIdempotencyKey: ["task INDEX task_idempotency (<expr>=? AND idempotency_key=?)"],
  selectBlocked: ["task INDEX task_blocked (method=? AND tool=? AND id>?)"],
  selectQueued: ["task INDEX task_unfinished (id>?)"],
  selectTried: ["SCAN task INDEX task_tried"],
  selectUnfinished: ["task INDEX task_unfinished (id>?)"],
  selectUsage: ["usage PRIMARY KEY (owner=?)"],
  updateHandlers: ["owner PRIMARY KEY (id=?)"],
  updateTask: ["task PRIMARY KEY (id=?)"],
  "rows.upsertJournal": [],
  selectEnded: ["task INDEX task_ended_as (tool=? AND state=? AND outcome_kind=? AND id<?)"],
  countEnded: ["task INDEX task_ended_as (tool=? AND state=? AND outcome_kind=?)"],
  selectFailedKeys: ["journal PRIMARY KEY (task_id=?)"],
  selectEndedBelow: ["child INDEX child_root (root=?)", "task PRIMARY KEY (id=?)"],
  selectEndedTool: ["task INDEX task_ended_as (tool>?)"],
  selectAll: ["task PRIMARY KEY (id<?)"],
  selectOpen: ["task INDEX task_unfinished (id<?)"],
  selectAnyTask: ["task PRIMARY KEY (id>?)"],
  selectAsking: ["task INDEX task_asking (id<?)"],
  selectOfPrincipal: ["task INDEX task_owner (generation=? AND principal=? AND id<?)"],
  selectChildrenOf: ["child INDEX child_parent (parent=? AND id<?)", "task PRIMARY KEY (id=?)"],
  countChildren: ["child INDEX child_parent (parent=?)"],
  countAll: ["SCAN task INDEX task_generation"],
  countOpen: ["SCAN task INDEX task_unfinished"],
  countAsking: ["SCAN task INDEX task_asking"],
  countOfPrincipal: ["task INDEX task_owner (generation=? AND principal=?)"],
  selectActions: ["action INTEGER PRIMARY KEY (rowid<?)"],
  selectActionsOf: ["action INDEX action_task (task_id=? AND seq<?)"],
  "rows.insertAction": [],
  "rows.deleteOldActions": ["action INTEGER PRIMARY KEY (rowid=?)"],
  selectBulkJob: ["bulk_job PRIMARY KEY (id=?)"],
  selectBulkUnderWay: ["SCAN bulk_job INDEX bulk_job_under_way"],
  selectBulkJobs: ["bulk_job PRIMARY KEY (id<?)"],
  selectOldestBulk: [],
  selectBulkTasks: ["bulk_task INDEX bulk_task_end (job=? AND ended_as=? AND place>?)"],
  countBulkTasks: ["bulk_task INDEX bulk_task_end (job=?)"],
  selectBulkOn: ["bulk_task INDEX bulk_task_task (task_id=?)", "action INDEX action_job (job=? AND rowid<?)"],
  "rows.upsertBulkJob": [],
  "rows.insertBulkTask": [],
  "rows.endBulkTask": ["bulk_task PRIMARY KEY (job=? AND place=?)"],
  "rows.deleteBulkTasks": ["bulk_task PRIMARY KEY (job=?)"],
  "rows.deleteBulkJob": ["bulk_job PRIMARY KEY (id=?)"],
  selectOfCause: ["task INDEX task_cause (cause=? AND id<?)"],
  countOfCause: ["task INDEX task_cause (cause=?)"],
  selectFailed: ["task INDEX task_failed (id<?)"],
  selectFailedOfCause: ["task INDEX task_cause (cause=? AND id<?)"],
  selectFirstOfCause: ["task INDEX task_cause (cause=? AND id>?)"],
  selectNextCause: ["task INDEX task_cause (cause>?)"],
  selectCauseMarks: [],
  "rows.upsertCauseMark": [],
  "rows.deleteCauseMark": ["cause_mark PRIMARY KEY (cause=?)"],
  selectPaused: [],
  "rows.insertPaused": [],
  "rows.deletePaused": ["paused_tool PRIMARY KEY (tool=?)"],
  "rows.insertDelivery": [],
  "rows.takeDelivery": ["delivery INTEGER PRIMARY KEY (rowid=?)"],
  "rows.retryDelivery": ["delivery INTEGER PRIMARY KEY (rowid=?)"],
  "rows.resendDelivery": ["delivery INTEGER PRIMARY KEY (rowid=?)"],
  "rows.endDelivery": ["delivery INTEGER PRIMARY KEY (rowid=?)"],
  "rows.dropDelivery": ["delivery INTEGER PRIMARY KEY (rowid=?)"],
  selectDueDeliveries: ["delivery INDEX delivery_due (hook=? AND due_at<?)"],
  selectLaterDeliveries: ["delivery INDEX delivery_due (hook=? AND due_at>?)"],
  selectGivenUpDeliveries: ["delivery INDEX delivery_due (hook=? AND due_at=?)"],
  selectExcessDeliveries: [],
  selectNextDelivery: ["delivery INDEX delivery_due (hook=? AND due_at>?)"],
  selectNextHook: ["delivery INDEX delivery_due (hook>?)"],
  countWaitingDeliveries: ["delivery INDEX delivery_due (hook=? AND due_at>?)"],
  countGivenUpDeliveries: ["delivery INDEX delivery_due (hook=? AND due_at=?)"],
  selectDeliveriesOfTask: ["delivery INTEGER PRIMARY KEY (rowid>?)"],
  selectDeliveriesBefore: ["delivery INTEGER PRIMARY KEY (rowid<?)"],
  upsertReport: [],
  deleteOldReports: ["report PRIMARY KEY (minute<?)"],
  selectReports: ["report PRIMARY KEY (minute>? AND minute<?)"],
  selectRunningOwners: ["SCAN task INDEX task_unfinished"],
  selectLastFailure: ["delivery INDEX delivery_failed (hook=? AND failed_at>?)"],
};

/** They read all of a table: of sessions there are as many as the server allows, of owners few. */
const readsAll = [
  "selectMark", // once, if the file seems to be another one
  "countTasks", // once, if a counter is damaged

  "selectSecrets", // a handful
  "countSessions",
  "countReady",
  "countParked",
  "deleteChangesForNobody",
  "selectSessionHolders",
  "selectOwnerIds",
  "selectOwners",
  // Up to the number that they are given.
  "limit.starts",
  "countAll",
  "countEnded",
  "countOpen",
  "countAsking",
  "countOfPrincipal",
  "countOfCause",
  "selectCauseMarks",
  "countChildren",
  "selectDeliveriesOfTask",
  "rows.deleteOldActions",
  "selectBulkUnderWay",
  "selectOldestBulk",
  "selectPaused",
  "countWaitingDeliveries",
  "countGivenUpDeliveries",
  "selectExcessDeliveries",
  "selectRunningOwners",
  "selectTried", // of the few suspects
];

let db: DatabaseSync;
beforeAll(() => {
  db = new DatabaseSync(":memory:");
  migrate(db);
});
afterAll(() => db.close());

test.each(Object.entries(plans))("%s finds its rows by an index, and needs no sort", (name, expected) => {
  const steps = db
    .prepare(`EXPLAIN QUERY PLAN ${statements.get(name)}`)
    .all()
    .map((row) => String(row["detail"]));
  const costly = readsAll.includes(name) ? /TEMP B-TREE/ : /SCAN|TEMP B-TREE/;
  expect(steps.filter((step) => costly.test(step))).toEqual([]);
  const searches = steps.filter((step) => /INDEX|PRIMARY KEY/.test(step));
  expect(searches.map((step) => step.replaceAll(/SEARCH | USING| COVERING/g, ""))).toEqual(expected);
});

test("every statement has a plan that is expected of it", () => {
  expect(new Set(Object.keys(plans))).toEqual(new Set(statements.keys()));
});

test("what has ended is counted in its index alone", () => {
  const steps = db.prepare(`EXPLAIN ${statements.get("countEnded")}`).all();
  const operations = steps.map(({ opcode }) => opcode);
  expect(operations).toContain("SeekGE");
  // The row of an index entry.
  expect(operations).not.toContain("NotFound");
});
