import { HoldfastError } from "../../task/fault.ts";
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

function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === undefined || code === sqliteCode.corrupt;
}
