import {
  openBackup,
  type BackupHeader,
  type BackupSetup,
  type MadeBackup,
  type RestoreSetup,
} from "./backup-file.ts";
import type { Erased } from "./erased.ts";
import type { StorePlace } from "./from-url.ts";
import { backupPostgres } from "./postgres/backup-postgres.ts";
import { compactPostgres, sizeOfPostgres } from "./postgres/compact-postgres.ts";
import { eraseFromPostgres } from "./postgres/erase-postgres.ts";
import { restorePostgres } from "./postgres/restore-postgres.ts";
import { backupSqlite } from "./sqlite/backup-sqlite.ts";
import { compactSqlite, sizeOfSqlite } from "./sqlite/compact-sqlite.ts";
import { eraseFromSqlite } from "./sqlite/erase-sqlite.ts";
import { restoreSqlite } from "./sqlite/restore-sqlite.ts";

/** Backs up a store, while its owners keep writing, to a file that must not exist yet. */
export async function backupStore(place: StorePlace, file: string, setup: BackupSetup): Promise<MadeBackup> {
  if (place.kind === "sqlite") return backupSqlite(place.path, file, setup);
  return backupPostgres(place.url, place.options, file, setup);
}

/**
 * Creates a store from a backup, after checking the whole backup. No store may exist there. It must not be opened while others have the
 * original open, except with `beside`.
 */
export async function restoreStore(
  place: StorePlace,
  file: string,
  how: RestoreSetup,
): Promise<BackupHeader> {
  const backup = await openBackup(file);
  if (place.kind === "sqlite") await restoreSqlite(place.path, backup, how);
  else await restorePostgres(place.url, place.options, backup, how);
  return backup.header;
}

export interface Compaction {
  /** Whether nobody else has the store open. */
  readonly isAlone: boolean;
  /** Whether the database may be rewritten although others then have to wait. */
  readonly full: boolean;
}

/** The size of a store on disk, in bytes. */
export async function sizeOfStore(place: StorePlace): Promise<number> {
  if (place.kind === "sqlite") return sizeOfSqlite(place.path);
  return sizeOfPostgres(place);
}

/** Frees unused space of a store; resolves with what could not be done and why, or null. Only for one of its owners. */
export async function compactStore(place: StorePlace, { isAlone, full }: Compaction): Promise<string | null> {
  const rewrites = isAlone || full;
  if (place.kind === "postgres") await compactPostgres(place, rewrites);
  else if (!compactSqlite(place.path, rewrites))
    return "Some space was not freed, because other processes kept reading or writing. Run the command again.";
  return rewrites
    ? null
    : "Other processes have the store open, so the free space in the database is kept for new tasks. With --full it is returned to the disk; the other processes cannot write meanwhile.";
}

export interface Erasure extends Erased {
  /** False if others kept the database from being rewritten: its free space may still contain deleted data. */
  readonly isClean: boolean;
}

/** Deletes all data of a principal, except unfinished tasks, so that no trace is left in the database. Only for one of the store's owners. */
export async function erasePrincipal(place: StorePlace, principal: string): Promise<Erasure> {
  if (place.kind === "postgres") return eraseFromPostgres(place, principal);
  const erased = eraseFromSqlite(place.path, principal);
  return { ...erased, isClean: compactSqlite(place.path, true) };
}
