import type { SQLInputValue } from "node:sqlite";
import type { UnreadableTask } from "../../task/command.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { type Codec, idOf, type Row, toStored } from "../row.ts";
import { taskTable } from "../tables/task.ts";
import { readTask, recordOf, type RowStatement } from "./statements.ts";

const [idAt, runAfterAt] = [taskTable.at.id.place, taskTable.at.runAfter.place];

/** The record of a row, which can be written back under its id. Undefined if it is unreadable; `unreadable` then names it. */
export function readableTask(row: Row, unreadable: UnreadableTask[], codec: Codec): TaskRecord | undefined {
  try {
    return readTask(idOf(row), () => recordWithId(row, codec));
  } catch (error) {
    // Only for errors of this record: errors of the disk or the memory concern all records.
    if (!(error instanceof HoldfastError) || !isUnreadable(error)) throw error;
    unreadable.push({ id: idOf(row), problem: error.message });
    return undefined;
  }
}

export function readableTasks(
  rows: readonly Row[],
  unreadable: UnreadableTask[],
  codec: Codec,
): readonly TaskRecord[] {
  return rows.flatMap((row) => readableTask(row, unreadable, codec) ?? []);
}

/** The most rows that are read at once. */
const largestPage = 128;

/**
 * The tasks of a statement that continues after a time and an id, up to a number of rows. They are read on demand, in growing pages: mostly
 * one, but there can be many.
 */
export function* readableInOrder(
  statement: RowStatement,
  values: readonly SQLInputValue[],
  unreadable: UnreadableTask[],
  codec: Codec,
): Generator<TaskRecord, void, undefined> {
  let after: readonly SQLInputValue[] = [-Infinity, ""];
  for (let size = 1; ; size = Math.min(2 * size, largestPage)) {
    const rows = statement.all(...values, ...after, size);
    for (const row of rows) {
      const task = readableTask(row, unreadable, codec);
      if (task !== undefined) yield task;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) return;
    after = [last[runAfterAt] ?? null, last[idAt] ?? null];
  }
}

function recordWithId(row: Row, codec: Codec): TaskRecord {
  const task = recordOf(row, codec);
  if (toStored(task.id) !== row[idAt]) throw new Error(`the id ${task.id} is damaged`);
  return task;
}
