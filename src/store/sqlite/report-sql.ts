import { upsertInto } from "../tables/statements.ts";
import { reportTable } from "../tables/tables.ts";

export const upsertReport = upsertInto(reportTable);
export const deleteOldReports = "DELETE FROM report WHERE minute < ?";
export const selectReports = `
  SELECT ${reportTable.list()} FROM report WHERE minute BETWEEN ? AND ? ORDER BY minute DESC LIMIT ? + 0`;

/** Looks at the oldest unfinished tasks, up to a number. */
export const selectRunningOwners = `
  SELECT owner FROM (
    SELECT owner, state, waiting, open_inputs FROM task INDEXED BY task_unfinished WHERE state IN ('queued', 'running') ORDER BY id LIMIT ? + 0)
  WHERE state = 'running' AND waiting = 0 AND open_inputs IS NULL`;
