import { createReadStream, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../task/fault.ts";
import { assertNodeVersion } from "../../task/package.ts";
import { unwritable, writeBackup, type BackupSetup, type MadeBackup } from "../backup-file.ts";
import { connect } from "./connect.ts";
import { existingDatabase } from "./database-path.ts";
import { assertOurs, number, userVersion } from "./migrate.ts";
import type { Original } from "./original-mark.ts";
import { isUnwritten } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/** How long to wait while another process recovers the log. */
const busyMs = 10_000;

/**
 * Backs up a database as of one moment, while its owners keep writing. An uncompressed copy temporarily exists beside the new file. Rejects
 * with `configuration` if the file exists, and with `store_unusable` if the database is not ours.
 */
export async function backupSqlite(
  path: string,
  file: string,
  { now, signal }: BackupSetup,
): Promise<MadeBackup> {
  assertNodeVersion(process.versions.node);
  const database = existingDatabase(path);
  if (statSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new HoldfastError("configuration", `${file} already exists. Choose another name.`);
  // Nobody else may read it.
  const folder = await makeFolder(file);
  try {
    const copy = join(folder, "copy");
    const { schema, tasks } = copyTo(database, copy, file);
    const original = { ...originalOf(database) };
    const header = { store: "sqlite", schema, tasks, at: new Date(now).toISOString(), original } as const;
    return { tasks, bytes: await writeBackup(file, header, contentOf(copy), signal) };
  } finally {
    // On Windows, a file that was just closed may still be in use.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function makeFolder(file: string): Promise<string> {
  try {
    return await mkdtemp(join(dirname(file), ".holdfast-backup-"));
  } catch (error) {
    throw unwritable(file, error);
  }
}

/** In one read transaction, without the log and free pages. */
function copyTo(
  path: string,
  copy: string,
  file: string,
): { readonly schema: number; readonly tasks: number } {
  try {
    const url = pathToFileURL(path);
    url.searchParams.set("mode", "rw"); // only a writer can read what a crash left in the log
    const db = connect(url, { timeout: busyMs });
    try {
      assertOurs(db, path);
      if (userVersion(db) === 0)
        throw new HoldfastError("store_unusable", `${path} is empty: there is nothing to back up.`);
      db.prepare("VACUUM INTO ?").run(copy);
    } finally {
      db.close();
    }
    return contentsOf(copy);
  } catch (error) {
    // Of the two files, only the copy is written.
    throw isUnwritten(error) ? unwritable(file, error) : unusable(path, error);
  }
}

/** Opens the copy on demand: if the backup cannot be written, nothing would close it. */
async function* contentOf(copy: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(copy) as AsyncIterable<Uint8Array>;
}

function contentsOf(copy: string): { readonly schema: number; readonly tasks: number } {
  const db = connect(copy, { readOnly: true });
  try {
    return { schema: userVersion(db), tasks: number(db, "SELECT count(*) FROM task") };
  } finally {
    db.close();
  }
}

function originalOf(path: string): Original {
  return { host: hostname(), path, file: String(statSync(path, { bigint: true }).ino) };
}
