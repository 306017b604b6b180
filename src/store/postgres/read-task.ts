import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { type Read, type Reading, readInTurn } from "../dialect.ts";
import { type Codec, idOf, type Row, toStored } from "../row.ts";
import { recordIn } from "../tables/task.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import { messageOf } from "./postgres-error.ts";

/** Calls `read` on rows of one task. Throws `task_unreadable` if they are damaged. */
export function readTask<T>(id: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(id, error);
  }
}

function unreadable(id: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${messageOf(error)}.`, {
    cause: error,
  });
}

/** Runs a read, or statements that change something. */
export function inTurn<T>(queries: Queries, reading: Reading<T>): Promise<T> {
  return readInTurn((sql, values) => queries.query(sql, values as readonly SqlValue[]), reading);
}

/** The reads of an open store; `open` throws unless it is. */
export function readsOf(open: () => Pick<Database, "read" | "codecs">): Read {
  return async (reading, task) => {
    const database = open();
    try {
      return await readInTurn(
        (sql, values) => database.read(sql, values as readonly SqlValue[]),
        reading(database.codecs.reading),
      );
    } catch (error) {
      if (task !== undefined) throw unreadable(task, error);
      if (error instanceof HoldfastError) throw error;
      throw new HoldfastError("store_failed", `The database cannot be read: ${messageOf(error)}.`, {
        cause: error,
      });
    }
  };
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
