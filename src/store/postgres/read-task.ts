import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { type Codec, idOf, type Row, toStored } from "../row.ts";
import { recordIn } from "../tables/task.ts";
import { messageOf } from "./postgres-error.ts";

/** Sorts after every id, and after everything that a prefix of a key can be followed by. */
export const behindAllTexts = "\u{10ffff}";

/** Calls `read` on rows of one task. Throws `task_unreadable` if they are damaged. */
export function readTask<T>(id: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** The record of a row that begins with `recordColumns`. Throws `task_unreadable` if it is no valid record. */
export function recordOf(row: Row, codec: Codec): TaskRecord {
  return readTask(idOf(row), () => {
    const task = recordIn(row, codec);
    if (toStored(task.id) !== row[0]) throw new Error(`the id ${task.id} is damaged`);
    return task;
  });
}

/** The record of a row; undefined if it is unreadable: a claim, a wake or a reclaim reports it. */
export function recordIfReadable(row: Row, codec: Codec): TaskRecord | undefined {
  try {
    return recordOf(row, codec);
  } catch {
    return undefined;
  }
}

/**
 * Up to `limit` tasks. Those whose rows cannot be read do not make a page shorter. `page` gets the rows after one, or from the beginning
 * without one.
 */
export async function readableTasks<Task>(
  limit: number,
  page: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
  read: (row: Row) => Task,
): Promise<Task[]> {
  const tasks: Task[] = [];
  for (let last: Row | undefined; tasks.length < limit;) {
    const wanted = limit - tasks.length;
    const rows = await page(last, wanted);
    for (const row of rows) {
      try {
        tasks.push(read(row));
      } catch {
        // A claim, a wake or a reclaim reports it.
      }
    }
    if (rows.length < wanted) break;
    last = rows.at(-1);
  }
  return tasks;
}
