import { HoldfastError } from "../../task/fault.ts";
import { messageOf, primaryCode, sqliteCode } from "./sqlite-error.ts";

/**
 * What `read` makes of the rows of one task. Throws `task_unreadable` where they are damaged: that is a fault of this task
 * alone, while all other errors of SQLite are those of a disk or a file that may answer again.
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

function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === undefined || code === sqliteCode.corrupt;
}
