import type { DumpSetup, MadeDump } from "./dump.ts";
import { headerOf } from "./dump-file.ts";
import type { Erased } from "./erased.ts";
import type { StorePlace } from "./from-url.ts";
import {
  compactPostgres,
  eraseFromPostgres,
  keyUsageOfPostgres,
  resealPostgres,
  sizeOfPostgres,
} from "./postgres/data-care.ts";
import type { CheckedDump, LoadSetup } from "./load.ts";
import { dumpPostgres, loadPostgres } from "./postgres/dump-postgres.ts";
import type { KeyRing } from "./encryption-keys.ts";
import type { KeyUsage } from "./key-usage.ts";
import type { Resealed, ResealSetup } from "./reseal.ts";
import {
  compactSqlite,
  eraseFromSqlite,
  keyUsageOfSqlite,
  resealSqlite,
  sizeOfSqlite,
} from "./sqlite/data-care.ts";
import { dumpSqlite, loadSqlite } from "./sqlite/dump-sqlite.ts";
import { refuseWhileOriginalRuns } from "./sqlite/original-mark.ts";

/** Dumps a store, while its owners keep writing, to a file that must not exist yet. */
export async function dumpStore(place: StorePlace, file: string, setup: DumpSetup): Promise<MadeDump> {
  if (place.kind === "sqlite") return dumpSqlite(place.path, file, setup);
  return dumpPostgres(place.url, place.options, file, setup);
}

/**
 * Loads a dump of a store of any kind into an empty store, or one of what changed since the dump that was loaded last, after checking the
 * whole file. Servers can open the store once that has finished, except with `partial`. While others have the original open, they must not,
 * except with `beside`: a database that cannot know its original is not finished meanwhile.
 */
export async function loadStore(place: StorePlace, file: string, setup: LoadSetup): Promise<CheckedDump> {
  if (place.kind === "sqlite") return loadSqlite(place.path, file, setup);
  const { store, original } = await headerOf(file);
  if (store === "sqlite" && !setup.partial && !setup.beside) refuseWhileOriginalRuns(original);
  return loadPostgres(place.url, place.options, file, setup);
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

/** Seals everything in a store with the first key, while its owners keep writing. Only with the keys of the store. */
export async function resealStore(
  place: StorePlace,
  setup: ResealSetup,
): Promise<Resealed & { readonly isClean: boolean }> {
  if (place.kind === "sqlite") return resealSqlite(place.path, setup);
  return { ...(await resealPostgres(place, setup)), isClean: true };
}

/** What the keys of a store are still needed for. */
export async function keyUsageOfStore(place: StorePlace, keys: KeyRing | undefined): Promise<KeyUsage> {
  if (place.kind === "sqlite") return keyUsageOfSqlite(place.path, keys);
  return keyUsageOfPostgres(place, keys);
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
