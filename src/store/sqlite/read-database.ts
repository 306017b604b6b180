import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { assertNodeVersion } from "../../task/package.ts";
import type { StoredTasks } from "../export-journal.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { Protection } from "../protection.ts";
import { connect } from "./connect.ts";
import { existingDatabase } from "./database-path.ts";
import { assertMigrated } from "./migrate.ts";
import { readTask } from "./read-task.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import { Statements } from "./statements.ts";
import { unusable } from "./unusable.ts";

/** How long a read waits while another process recovers the log. */
const busyMs = 5_000;
/** How often a file is read again if others begin to use it during the read. */
const mostReads = 5;

/**
 * Reads tasks of a database in one consistent view, without being one of its owners. Creates and changes nothing in it or beside it, and
 * processes that have it open do not notice. Rejects with `store_unusable` if there is no such file, or if it is not ours or of another
 * schema.
 */
export async function readDatabase<T>(
  path: string,
  read: (tasks: StoredTasks) => T | Promise<T>,
  keys?: KeyRing,
): Promise<T> {
  assertNodeVersion(process.versions.node);
  const file = existingDatabase(path);
  for (let attempt = 1; ; attempt++) {
    const before = stateOf(file);
    const isLast = attempt === mostReads;
    try {
      const result = await readOnce(file, before.inUse || isLast, read, keys);
      if (before.inUse || isLast || stateOf(file).stamp === before.stamp) return result;
    } catch (error) {
      // If another process began to write during the read, the result may be anything.
      if (before.inUse || isLast || stateOf(file).stamp === before.stamp) throw unusable(file, error);
    }
  }
}

/** Without a log nobody has the file open, so it is opened as immutable. Any other reader would leave an empty log and its index behind. */
async function readOnce<T>(
  file: string,
  inUse: boolean,
  read: (tasks: StoredTasks) => T | Promise<T>,
  keys: KeyRing | undefined,
): Promise<T> {
  const url = pathToFileURL(file);
  if (!inUse) url.searchParams.set("immutable", "1");
  const db = connect(url, { readOnly: true, timeout: busyMs });
  try {
    assertMigrated(db, file);
    const reader = new SqliteReader(new Statements(db));
    db.exec("BEGIN");
    const sealing = await Protection.readOnly(() => reader.secrets(), keys);
    if (sealing !== undefined) reader.encrypt(sealing);
    return await read(storedTasks(reader));
  } finally {
    db.close();
  }
}

function storedTasks(reader: SqliteReader): StoredTasks {
  const of = async <T>(id: string, read: () => T): Promise<T> => readTask(id, read);
  return {
    get: (id) => of(id, () => reader.task(id)),
    snapshot: (id, isVisible = () => true) => of(id, () => reader.snapshot(id, isVisible)),
    request: (id) => of(id, () => reader.request(id)),
    journal: (id, from, limit) => of(id, () => reader.journal(id, from, limit)),
    journalEntry: (id, key) => of(id, () => reader.journalEntry(id, key)),
    unfinished: async (after, limit) => reader.unfinished(after, limit),
  };
}

/** `stamp` changes when another process changes the file, or opens it to write. */
function stateOf(file: string): { readonly inUse: boolean; readonly stamp: string } {
  const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
  const inUse = isThere(`${file}-wal`) || isThere(`${file}-journal`);
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true });
  return { inUse, stamp: [inUse, stats?.ino, stats?.size, stats?.mtimeNs].join(" ") };
}
