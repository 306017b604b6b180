import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Codec } from "../codec.ts";
import { idOf, type Row } from "../row.ts";
import { recordIn } from "../tables/task.ts";
import { messageOf, primaryCode, sqliteCode } from "./sqlite-error.ts";

/**
 * Calls `read` on the rows of one task. Throws `task_unreadable` if they are damaged: that concerns this task alone, while all other SQLite
 * errors concern a disk or a file that may recover.
 */
export function readTask<T>(id: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof HoldfastError || !isDamage(error)) throw error;
    throw new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

/** The record of a row that begins with `recordColumns`. Throws `task_unreadable`, and nothing else, if it is no valid record. */
export function recordOf(row: Row, codec: Codec): TaskRecord {
  return readTask(idOf(row), () => recordIn(row, codec));
}

function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === undefined || code === sqliteCode.corrupt;
}
