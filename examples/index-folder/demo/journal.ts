import { DatabaseSync } from "node:sqlite";
import type { Listing } from "../list-files.ts";

/** What the database says about the demo's task. */
export interface Journal {
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly attempt: number;
  readonly entries: readonly JournalRow[];
  /** The entries of files, by path. */
  readonly files: ReadonlyMap<string, JournalRow>;
  /** How many entries files have; more than there are files, if one had two. */
  readonly fileEntries: number;
}

export interface JournalRow {
  readonly place: number;
  readonly key: string;
  readonly value: string | null;
  readonly doneAt: number | null;
}

/** Reads a task's journal from the database of a server that does not run: directly, without Holdfast, as evidence. */
export function loadJournal(database: string, taskId: string): Journal {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    const task = db.prepare("SELECT created_at, finished_at, attempt FROM task WHERE id = ?").get(taskId);
    const rows = db
      .prepare("SELECT place, key, value, done_at FROM journal WHERE task_id = ? ORDER BY place")
      .all(taskId);
    const entries = rows.map((row): JournalRow => ({
      place: Number(row["place"]),
      key: String(row["key"]),
      value: row["value"] === null ? null : String(row["value"]),
      doneAt: row["done_at"] === null ? null : Number(row["done_at"]),
    }));
    const files = entries.flatMap((row) => {
      const path = pathOf(row.key);
      return path === undefined ? [] : [[path, row] as const];
    });
    return {
      createdAt: Number(task?.["created_at"]),
      finishedAt: task?.["finished_at"] == null ? null : Number(task["finished_at"]),
      attempt: Number(task?.["attempt"]),
      entries,
      files: new Map(files),
      fileEntries: files.length,
    };
  } finally {
    db.close();
  }
}

/** A file's step has the key `["file", path]`, which the journal keeps as JSON. */
function pathOf(key: string): string | undefined {
  if (!key.startsWith('["file",')) return undefined;
  const [, path] = JSON.parse(key) as [string, string];
  return path;
}

/** The files that the tool found, as its first step journalled them. */
export function listedFiles({ entries }: Journal): readonly string[] {
  const value = entries.find(({ key }) => key === "list")?.value;
  return value == null ? [] : (JSON.parse(value) as Listing).files;
}
