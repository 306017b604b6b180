import { adminSql, bulkSql, reportSql } from "../admin-reads.ts";
import { type Reading, tablesNamed } from "../dialect.ts";
import { idOf, toStored } from "../row.ts";
import type { Statements } from "./statements.ts";
import { outboxSql } from "../outbox-reads.ts";
import { reportTable } from "../tables/tables.ts";
import { isReady, isWaiting } from "../tables/task.ts";
import { upsertInto } from "../tables/statements.ts";

export const tables = tablesNamed((table) => table);

export const adminStatements = adminSql(tables, "sqlite");
export const bulkStatements = bulkSql(tables, "sqlite");
export const outboxStatements = outboxSql(tables, "sqlite");
export const reportStatements = reportSql(tables, "sqlite");

/** For an owner and a handler: the number of tasks, up to a maximum, and since when the first one can be claimed. */
export const countReady = `
  SELECT count(*) AS count, min(run_after) AS since FROM (
    SELECT run_after FROM task INDEXED BY task_ready WHERE ${isReady} AND owner = ? AND method = ? AND tool = ? LIMIT ? + 0)`;
export const countParked = `
  SELECT count(*) AS count, NULL AS since FROM (
    SELECT 1 FROM task INDEXED BY task_parked WHERE ${isWaiting} AND method = ? AND tool = ? LIMIT ? + 0)`;
export const upsertReport = upsertInto(reportTable);
export const deleteOldReports = "DELETE FROM report WHERE minute < ?";
/** Looks at the oldest unfinished tasks, up to a number. */
export const selectRunningOwners = `
  SELECT owner FROM (
    SELECT owner, state, waiting, open_inputs FROM task INDEXED BY task_unfinished WHERE state IN ('queued', 'running') ORDER BY id LIMIT ? + 0)
  WHERE state = 'running' AND waiting = 0 AND open_inputs IS NULL`;

/** Replaces the owner's report of that minute, and deletes old ones. */
export function writeReport(
  statements: Statements,
  owner: string,
  { minute, body, oldest }: { readonly minute: number; readonly body: string; readonly oldest: number },
): void {
  statements.run(upsertReport, toStored(owner), minute, toStored(body));
  statements.run(deleteOldReports, oldest);
}

/** The number of tasks that each owner runs, among the first `most` unfinished ones. */
export function* runningTasks(most: number): Reading<ReadonlyMap<string, number>> {
  const running = new Map<string, number>();
  for (const row of yield { sql: selectRunningOwners, values: [most] }) {
    const owner = idOf(row);
    running.set(owner, (running.get(owner) ?? 0) + 1);
  }
  return running;
}
