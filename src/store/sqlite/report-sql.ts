import { reportColumns } from "../report-row.ts";

const all = reportColumns.join(", ");

export const upsertReport = `
  INSERT INTO report (${all}) VALUES (?, ?, ?) ON CONFLICT (minute, owner) DO UPDATE SET body = excluded.body`;
export const deleteOldReports = "DELETE FROM report WHERE minute < ?";
export const selectReports = `
  SELECT ${all} FROM report WHERE minute BETWEEN ? AND ? ORDER BY minute DESC LIMIT ? + 0`;

/** Looks at the oldest unfinished tasks, up to a number. */
export const selectRunningOwners = `
  SELECT owner FROM (
    SELECT owner, state FROM task INDEXED BY task_unfinished WHERE state IN ('queued', 'running') ORDER BY id LIMIT ? + 0)
  WHERE state = 'running'`;
