import { createReadStream, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../task/fault.ts";
import { assertNodeVersion } from "../../task/node-version.ts";
import { unwritable, writeBackup, type BackupSetup, type MadeBackup } from "../backup-file.ts";
import { connect } from "./connect.ts";
import { assertOurs, number, userVersion } from "./database-header.ts";
import { existingDatabase } from "./database-path.ts";
import { migrations } from "./migrate.ts";
import type { Original } from "./original-mark.ts";
import { isUnwritten } from "./sqlite-error.ts";
import { unusable } from "./unusable.ts";

/** How long it waits while another process brings the log in order. */
const busyMs = 10_000;

/**
 * Backs a database up as it stands at one moment, while its owners go on to write. For a while a copy without compression stands beside the new file. Rejects with
 * `configuration` where that is there already, and with `store_unusable` for a database that is not ours.
 */
export async function backupSqlite(
  path: string,
  file: string,
  { now, signal }: BackupSetup,
): Promise<MadeBackup> {
  assertNodeVersion(process.versions.node);
  const database = existingDatabase(path);
  if (statSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new HoldfastError("configuration", `${file} already exists: name another file.`);
  // Nobody else may look into it.
  const folder = await makeFolder(file);
  try {
    const copy = join(folder, "copy");
    const { schema, tasks } = copyTo(database, copy, file);
    const original = { ...originalOf(database) };
    const header = { store: "sqlite", schema, tasks, at: new Date(now).toISOString(), original } as const;
    return { tasks, bytes: await writeBackup(file, header, contentOf(copy), signal) };
  } finally {
    // A file that has just been closed may be in use still on Windows.
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

/** In one transaction that reads, without the log and without pages that are free. */
function copyTo(
  path: string,
  copy: string,
  file: string,
): { readonly schema: number; readonly tasks: number } {
  try {
    const url = pathToFileURL(path);
    url.searchParams.set("mode", "rw"); // what a crash left in the log is read by who may write
    const db = connect(url, { timeout: busyMs });
    try {
      assertOurs(db, path, migrations.length);
      if (userVersion(db) === 0)
        throw new HoldfastError("store_unusable", `${path} has no tasks: it is empty.`);
      db.prepare("VACUUM INTO ?").run(copy);
    } finally {
      db.close();
    }
    return contentsOf(copy);
  } catch (error) {
    // Of the two, only the copy is written.
    throw isUnwritten(error) ? unwritable(file, error) : unusable(path, error);
  }
}

/** Opens the copy once it is asked for: where the backup cannot be written nobody would close it. */
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
