import { reportColumns } from "../report-row.ts";

const all = reportColumns.join(", ");

export const upsertReport = `
  INSERT INTO report (${all}) VALUES (?, ?, ?) ON CONFLICT (minute, owner) DO UPDATE SET body = excluded.body`;
export const deleteOldReports = "DELETE FROM report WHERE minute < ?";
export const selectReports = `
  SELECT ${all} FROM report WHERE minute BETWEEN ? AND ? ORDER BY minute DESC LIMIT ? + 0`;

/** Of the oldest ones that are unfinished, so many of which are looked at. */
export const selectRunningOwners = `
  SELECT owner FROM (
    SELECT owner, state FROM task INDEXED BY task_unfinished WHERE state IN ('queued', 'running') ORDER BY id LIMIT ? + 0)
  WHERE state = 'running'`;
