import { reportColumns } from "../report-row.ts";
import type { Names } from "./names.ts";
import { ownerLives } from "./owner-sql.ts";

/** The reports of processes, and the tasks that they run. */
export function reportStatements({ report, owner, task }: Names) {
  const all = reportColumns.join(", ");
  return {
    /** Also deletes old reports, unless others are deleting them. */
    write: `WITH old AS (
        SELECT minute, owner FROM ${report} WHERE minute < $4 ORDER BY minute, owner LIMIT 1000 FOR UPDATE SKIP LOCKED
      ), gone AS (DELETE FROM ${report} USING old WHERE report.minute = old.minute AND report.owner = old.owner)
      INSERT INTO ${report} (${all}) VALUES ($1, $2, $3) ON CONFLICT (minute, owner) DO UPDATE SET body = excluded.body`,
    between: `SELECT ${all} FROM ${report} WHERE minute BETWEEN $1 AND $2 ORDER BY minute DESC LIMIT $3`,
    /** A range, so that the order uses the index: for an owner without tasks, all running tasks would be scanned otherwise. */
    owners: `SELECT id, (SELECT count(*)::int FROM (
        SELECT 1 FROM ${task} WHERE task.state = 'running' AND task.owner >= living.id AND task.owner <= living.id
        ORDER BY task.owner, task.id LIMIT $2) AS held)
      FROM (SELECT id FROM ${owner} WHERE ${ownerLives("$1::float8")}) AS living ORDER BY id`,
  };
}

export type ReportStatements = ReturnType<typeof reportStatements>;
