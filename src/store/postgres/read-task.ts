import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Row } from "../row.ts";
import { messageOf } from "./postgres-error.ts";
import { recordOf } from "./task-row.ts";

/** No id begins with it, nor anything of a key that a prefix is followed by. */
export const behindAllTexts = "\u{10ffff}";

/** What `read` makes of rows of one task. Throws `task_unreadable` where they are damaged. */
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

/** The record of a row; undefined where it cannot be read: a claim, a wake or a reclaim names it. */
export function recordIfReadable(row: Row): TaskRecord | undefined {
  try {
    return recordOf(row);
  } catch {
    return undefined;
  }
}

/**
 * Up to `limit` tasks of rows that begin with `recordColumns`: those that cannot be read make no page shorter. `page` gives
 * the rows after one, from the beginning without it.
 */
export async function readableTasks(
  limit: number,
  page: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
): Promise<TaskRecord[]> {
  const tasks: TaskRecord[] = [];
  for (let last: Row | undefined; tasks.length < limit;) {
    const wanted = limit - tasks.length;
    const rows = await page(last, wanted);
    tasks.push(...rows.flatMap((row) => recordIfReadable(row) ?? []));
    if (rows.length < wanted) break;
    last = rows.at(-1);
  }
  return tasks;
}
