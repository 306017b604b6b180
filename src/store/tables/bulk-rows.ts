import type { BulkJob, BulkTask } from "../../task/bulk.ts";
import type { StoredAction } from "../../task/record.ts";
import type { BulkCounts } from "../bulk-jobs.ts";
import { inClear } from "../codec.ts";
import type { Row } from "../row.ts";
import { actionTable, bulkJobsKeptMs, bulkTaskTable } from "./tables.ts";

/** Of rows [ended_as, count]. */
export function countsIn(rows: readonly Row[]): BulkCounts {
  const by = new Map(rows.map(([endedAs, count]) => [endedAs ?? "open", Number(count)]));
  return { open: by.get("open") ?? 0, done: by.get("done") ?? 0, refused: by.get("refused") ?? 0 };
}

/** Of a row with the columns of an action and then those of a task of its job. */
export function onTaskIn(row: Row): readonly [StoredAction, BulkTask] {
  const action = actionTable.read("", row, inClear);
  return [action, bulkTaskTable.read("", row.slice(actionTable.names.length), inClear)];
}

export function isOld({ createdAt, startedAt, endedAt }: BulkJob, now: number): boolean {
  if (startedAt === null) return createdAt < now - bulkJobsKeptMs.previewed;
  return endedAt !== null && endedAt < now - bulkJobsKeptMs.ended;
}
