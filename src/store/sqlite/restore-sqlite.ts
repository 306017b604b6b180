import { createWriteStream, existsSync, renameSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { HoldfastError } from "../../task/fault.ts";
import { assertNodeVersion } from "../../task/package.ts";
import type { Backup, RestoreSetup } from "../backup-file.ts";
import { connect } from "./connect.ts";
import { databasePath, syncDirectory } from "./database-path.ts";
import { applicationId, assertOurs, number, userVersion } from "./migrate.ts";
import { keepClosed } from "./open-database.ts";
import { markOriginal, type Original } from "./original-mark.ts";
import { isAnyLocked } from "./owner-lock.ts";
import { unusable } from "./unusable.ts";

/**
 * Creates a database from a backup, in a new file; its owners are all dead. With `beside` it may be opened while others have the original
 * open. Rejects with `configuration` if the file exists, with `store_locked` while processes still have an earlier file of that name open,
 * and with `store_unusable` for an unusable backup.
 */
export async function restoreSqlite(
  path: string,
  backup: Backup,
  { beside, signal }: RestoreSetup,
): Promise<void> {
  assertNodeVersion(process.versions.node);
  const original = originalIn(backup);
  const file = databasePath(path);
  const opening = keepClosed(file);
  const partial = `${file}.restoring`;
  try {
    assertFree(file);
    await rm(partial, { force: true }); // left by a restore that was killed
    await pipeline(backup.data(), createWriteStream(partial, { flags: "wx", mode: 0o600 }), { signal });
    finish(partial, backup, beside ? undefined : original);
    await sync(partial);
    renameSync(partial, file);
    syncDirectory(dirname(file));
  } catch (error) {
    throw unusable(file, error);
  } finally {
    await rm(partial, { force: true });
    opening.release();
  }
}

function originalIn({ header }: Backup): Original {
  const { host, path, file } = header.original;
  if (header.store !== "sqlite" || host === undefined || path === undefined || file === undefined) {
    throw new HoldfastError(
      "configuration",
      "The backup is of a Postgres store. Restore it to postgres://HOST/DATABASE.",
    );
  }
  return { host, path, file };
}

function assertFree(file: string): void {
  const taken = ["", "-wal", "-shm", "-journal"].map((end) => file + end).find((name) => existsSync(name));
  if (taken !== undefined) {
    throw new HoldfastError(
      "configuration",
      `${taken} already exists, and a backup can only be restored to a new file. Move the old database away first, with all files whose names start with its name.`,
    );
  }
  if (isAnyLocked(file)) {
    throw new HoldfastError(
      "store_locked",
      `Processes that had ${file} open before it was moved or deleted are still running. Stop them first.`,
    );
  }
}

/** Checks the database against the header, and marks its origin. */
function finish(path: string, { header }: Backup, original: Original | undefined): void {
  const db = connect(path, {});
  try {
    assertOurs(db, path);
    const isWhole =
      number(db, "PRAGMA application_id") === applicationId &&
      userVersion(db) === header.schema &&
      db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"] === "ok" &&
      number(db, "SELECT count(*) FROM task") === header.tasks;
    if (!isWhole)
      throw new HoldfastError(
        "store_unusable",
        "The database in the backup is damaged. Nothing was restored.",
      );
    db.exec("DELETE FROM report"); // about processes that had the original open
    markOriginal(db, original);
  } finally {
    db.close();
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
