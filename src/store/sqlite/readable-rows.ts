import type { SQLInputValue } from "node:sqlite";
import type { UnreadableTask } from "../../task/command-result.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { readTask } from "./read-task.ts";
import { recordOf, taskColumns } from "./record-row.ts";
import type { RowStatement } from "./row-statement.ts";
import { columnsOf, idOf, type Row } from "../row.ts";
import { toStored } from "../stored-text.ts";

const taskAt = columnsOf(taskColumns);

/** The record of a row, which can be written back under its id. Undefined where it cannot be read: it is then named in `unreadable`. */
export function readableTask(row: Row, unreadable: UnreadableTask[]): TaskRecord | undefined {
  try {
    return readTask(idOf(row), () => recordWithId(row));
  } catch (error) {
    // Only of the record itself: what the disk or the memory fails with concerns all of them.
    if (!(error instanceof HoldfastError) || !isUnreadable(error)) throw error;
    unreadable.push({ id: idOf(row), problem: error.message });
    return undefined;
  }
}

export function readableTasks(rows: readonly Row[], unreadable: UnreadableTask[]): readonly TaskRecord[] {
  return rows.flatMap((row) => readableTask(row, unreadable) ?? []);
}

/** The most rows that are read at once. */
const largestPage = 128;

/**
 * The tasks of a statement that goes on after a time and an id, up to a number of rows. They are read in pages that grow, as far as they are
 * asked for: mostly that is one, and it can be many.
 */
export function* readableInOrder(
  statement: RowStatement,
  values: readonly SQLInputValue[],
  unreadable: UnreadableTask[],
): Generator<TaskRecord, void, undefined> {
  let after: readonly SQLInputValue[] = [-Infinity, ""];
  for (let size = 1; ; size = Math.min(2 * size, largestPage)) {
    const rows = statement.all(...values, ...after, size);
    for (const row of rows) {
      const task = readableTask(row, unreadable);
      if (task !== undefined) yield task;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) return;
    after = [last[taskAt.run_after.place] ?? null, last[taskAt.id.place] ?? null];
  }
}

function recordWithId(row: Row): TaskRecord {
  const task = recordOf(row);
  if (toStored(task.id) !== row[taskAt.id.place]) throw new Error(`the id ${task.id} is damaged`);
  return task;
}

/** SQLite puts every blob behind all texts. */
export const behindAllTexts = new Uint8Array();

/** Up to `limit` tasks in the order of `page`, from the id `from` on: those that cannot be read make no page shorter. */
export function readablePage(
  from: SQLInputValue,
  limit: number,
  page: (from: SQLInputValue, limit: number) => readonly Row[],
): TaskRecord[] {
  const tasks: TaskRecord[] = [];
  for (let next = from; tasks.length < limit;) {
    const wanted = limit - tasks.length;
    const rows = page(next, wanted);
    for (const row of rows) {
      const task = recordIfReadable(row);
      if (task !== undefined) tasks.push(task);
    }
    if (rows.length < wanted) break;
    next = rows.at(-1)?.[0] ?? null;
  }
  return tasks;
}

function recordIfReadable(row: Row): TaskRecord | undefined {
  try {
    return recordOf(row);
  } catch {
    return undefined; // a claim, a wake or a reclaim names it
  }
}
