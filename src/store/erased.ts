import { formsOf, type Reading, type Tables } from "./dialect.ts";
import { turnOfPrincipal } from "./limits.ts";
import { toStored } from "./row.ts";
import type { Dialect } from "./tables/table.ts";
import { reportOf, reportTable } from "./tables/tables.ts";

/** What was deleted of a principal. */
export interface Erased {
  /** The number of deleted rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Some ids of tasks that were not deleted because they have not ended. */
  readonly left: readonly string[];
}

/** Deletes what is stored of a principal. Each statement returns the rows that it deleted. */
export function eraseSql(names: Tables, dialect: Dialect) {
  const { among, locked } = formsOf(dialect);
  const { task, child, piece, bulkJob, bulkTask, limitPlace, limitLine } = names;
  const of = (table: string, key = "task_id"): string =>
    `DELETE FROM ${table} WHERE ${key} ${among(1)} RETURNING 1`;
  return {
    /** Finished tasks. */
    ended: `SELECT id FROM ${task} WHERE principal = $1 AND state IN ('settled', 'cancelled')`,
    left: `SELECT id FROM ${task} WHERE principal = $1 ORDER BY id LIMIT 100`,
    /** By table. The task itself goes last, so that an interrupted deletion can be resumed. */
    ofTasks: {
      message: of(names.message),
      line: of(names.line),
      piece: of(piece),
      event: of(names.event),
      journal: of(names.journal),
      outcome: of(names.outcome),
      request: of(names.request),
      child: of(child, "id"),
      action: of(names.action),
      // What selected the task was a text that it has.
      bulk_job: `DELETE FROM ${bulkJob} WHERE text IS NOT NULL AND ended_at IS NOT NULL
        AND id IN (SELECT job FROM ${bulkTask} WHERE task_id ${among(1)}) RETURNING 1`,
      bulk_task: of(bulkTask),
      limit_place: of(limitPlace),
      task: of(task, "id"),
    },
    /** Also for deleted tasks, and for the end of tasks that were cancelled for this. */
    ofPrincipal: {
      session: `DELETE FROM ${names.session} WHERE principal = $1 RETURNING id`,
      delivery: `DELETE FROM ${names.delivery} WHERE principal = $1 RETURNING 1`,
      bulk_job: `DELETE FROM ${bulkJob} WHERE principal = $1 RETURNING 1`,
    },
    /** Of tasks that were deleted just now, or before. */
    rest: {
      piece: `DELETE FROM ${piece} WHERE NOT EXISTS (SELECT 1 FROM ${task} WHERE id = task_id) RETURNING 1`,
      bulk_task: `DELETE FROM ${bulkTask} WHERE NOT EXISTS (SELECT 1 FROM ${bulkJob} WHERE id = job) RETURNING 1`,
      // The key of a limit may be whom it limits. What a paused one has to wait for is said again by who paused it.
      limit_line: `DELETE FROM ${limitLine} WHERE name IN (SELECT name FROM ${limitLine} AS idle
        WHERE name LIKE '["%' AND NOT EXISTS (SELECT 1 FROM ${limitPlace} AS place WHERE place.name = idle.name)${locked}) RETURNING 1`,
    },
    /** The starts of deleted tasks. */
    past: `DELETE FROM ${limitPlace} WHERE turn_of = $1 AND phase = 'past' RETURNING 1`,
    reports: `SELECT ${reportTable.list()} FROM ${names.report}`,
    report: `DELETE FROM ${names.report} WHERE owner = $1 AND minute = $2 RETURNING 1`,
  };
}

export interface ErasedTasks {
  readonly ids: readonly string[];
  readonly principal: string;
}

type EraseSql = ReturnType<typeof eraseSql>;
type Counts = Map<string, number>;

/** The tasks with these ids, as they are stored. */
export function* eraseTasks({ ofTasks }: EraseSql, ids: readonly string[], counts: Counts): Reading<void> {
  for (const [table, sql] of Object.entries(ofTasks))
    add(counts, table, (yield { sql, values: [ids] }).length);
}

/** All else of the principal of these tasks. Returns the ids of its sessions, as they are stored. */
export function* eraseRest(
  sql: EraseSql,
  { ids, principal }: ErasedTasks,
  counts: Counts,
): Reading<string[]> {
  const sessions: string[] = [];
  for (const [table, each] of Object.entries(sql.ofPrincipal)) {
    const rows = yield { sql: each, values: [toStored(principal)] };
    add(counts, table, rows.length);
    if (table === "session") sessions.push(...rows.map(([id]) => String(id)));
  }
  add(counts, "limit_place", (yield { sql: sql.past, values: [turnOfPrincipal(principal)] }).length);
  for (const [table, each] of Object.entries(sql.rest))
    add(counts, table, (yield { sql: each, values: [] }).length);
  const gone = new Set(ids);
  // Processes report the keys of steps that they run, which can be words of the caller.
  for (const { owner, minute, body } of (yield { sql: sql.reports, values: [] }).map(reportOf))
    if (body.match(/[\w-]+/g)?.some((word) => gone.has(word)))
      add(counts, "report", (yield { sql: sql.report, values: [owner, minute] }).length);
  return sessions;
}

function add(counts: Counts, table: string, rows: number): void {
  counts.set(table, (counts.get(table) ?? 0) + rows);
}
