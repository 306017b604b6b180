import { HoldfastError } from "../task/fault.ts";
import { assertOptions, options as optionsOf, tableOf } from "../options/options.ts";
import type { StoredTasks } from "./export-journal.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { memoryStore } from "./sqlite/memory-store.ts";
import { isPostgresUrl, postgresStoreOptions, type PostgresStoreOptions } from "./postgres/options.ts";
import { postgresStore } from "./postgres/postgres-store.ts";
import { takeParameter } from "./postgres/work-sharing.ts";
import { readPostgres } from "./postgres/postgres-reader.ts";
import { readDatabase } from "./sqlite/open-database.ts";
import { sqliteStore, sqliteStoreOptions, type SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
import type { TaskStore } from "./store.ts";

class DeclaredStoreUrlOptions {
  readonly sqlite?: SqliteStoreOptions = optionsOf(sqliteStoreOptions);
  readonly postgres?: Omit<PostgresStoreOptions, "schema"> = optionsOf(postgresStoreOptions);
}

/** Options of the stores that a URL can name. Only those of the named store are used. */
export interface StoreUrlOptions extends DeclaredStoreUrlOptions {}

const storeUrlOptions = tableOf<StoreUrlOptions>(DeclaredStoreUrlOptions);

/**
 * The store of a URL: `memory:`; `sqlite:PATH` with a relative or absolute path, which is not decoded; or `postgres://…` with the
 * parameters of `pg`, and `schema` for that of the store. Throws `store_url` for anything else, and `configuration` for invalid options.
 */
export function storeFromUrl(url: string, options: StoreUrlOptions = {}): TaskStore {
  assertOptions("storeFromUrl", options, storeUrlOptions);
  if (url === "memory:") return memoryStore();
  const path = sqlitePath(url);
  if (path !== undefined) return sqliteStore(path, options.sqlite);
  const postgres = postgresUrl(url);
  if (postgres !== undefined)
    return postgresStore(postgres.url, { ...options.postgres, ...postgres.options });
  throw noStore(url);
}

/** The existing store at a URL or a path as below: opening it creates and migrates nothing. Throws `store_url` for anything else. */
export function existingStore(store: string, resolve: (path: string) => string): TaskStore {
  const postgres = postgresUrl(store);
  // Processes that use the queue still learn of its changes, at the latest when it ends.
  if (postgres !== undefined) return postgresStore(postgres.url, { ...postgres.options, migrate: false });
  return sqliteStore(resolve(pathOfStore(store)), { migrate: false });
}

/**
 * Reads tasks of a store without being one of its owners, by a URL as above or by the path of a file, which `resolve` makes absolute.
 * Encrypted texts are read with `keys`, if it has them. Throws `store_url` for anything else.
 */
export async function readStore<T>(
  store: string,
  resolve: (path: string) => string,
  read: (tasks: StoredTasks) => Promise<T>,
  keys?: KeyRing,
): Promise<T> {
  const postgres = postgresUrl(store);
  if (postgres !== undefined) return readPostgres(postgres.url, postgres.options, read, keys);
  return readDatabase(resolve(pathOfStore(store)), read, keys);
}

/** The place of a store that a database keeps. */
export type StorePlace =
  ({ readonly kind: "postgres" } & PostgresPlace) | { readonly kind: "sqlite"; readonly path: string };

/** The place of the store at a URL or a path as above, whether or not the store exists. Throws `store_url` for anything else. */
export function placeOfStore(
  store: string,
  resolve: (path: string) => string,
  platform = process.platform,
): StorePlace {
  const postgres = postgresUrl(store);
  if (postgres !== undefined) return { kind: "postgres", ...postgres };
  return { kind: "sqlite", path: resolve(pathOfStore(store, platform)) };
}

function pathOfStore(store: string, platform = process.platform): string {
  if (store === "memory:") {
    throw new HoldfastError(
      "store_url",
      "memory: keeps its tasks inside one process, where no other process can read them.",
    );
  }
  const path = namesScheme.test(store) ? sqlitePath(store, platform) : store;
  if (path === undefined || path === "") throw noStore(store);
  return path;
}

/** The database and the schema of a `postgres:` URL. Throws `store_url` for any other. */
export function databaseOfStore(store: string): PostgresPlace {
  const place = postgresUrl(store);
  if (place !== undefined) return place;
  if (store === "memory:" || sqlitePath(store) !== undefined || !namesScheme.test(store)) {
    throw new HoldfastError(
      "store_url",
      "Only a Postgres database is migrated with this command: a SQLite file is migrated when a server opens it, and memory: needs no migration.",
    );
  }
  throw noStore(store);
}

/** Two letters or more: `C:` is a drive. */
const namesScheme = /^[a-z][a-z\d+.-]+:/i;

function sqlitePath(url: string, platform = process.platform): string | undefined {
  const [, rest] = /^sqlite:(.+)$/s.exec(url) ?? [];
  if (rest === undefined) return undefined;
  // Only an empty authority part makes sense: `sqlite://tasks.db` would name a host.
  if (!rest.startsWith("//")) return rest;
  if (!rest.startsWith("///")) return undefined;
  // In `sqlite:///C:/data/tasks.db` the path begins with the drive.
  return platform === "win32" && /^[a-z]:[/\\]/i.test(rest.slice(3)) ? rest.slice(3) : rest.slice(2);
}

interface PostgresPlace {
  readonly url: string;
  readonly options: { readonly schema?: string };
}

function postgresUrl(given: string): PostgresPlace | undefined {
  if (!isPostgresUrl(given)) return undefined;
  const { url, value: schema } = takeParameter(given, "schema");
  return { url, options: schema === undefined ? {} : { schema } };
}

function noStore(url: string): HoldfastError {
  return new HoldfastError(
    "store_url",
    `${JSON.stringify(withoutPassword(url))} is not the URL of a store. Use sqlite:PATH (sqlite:tasks.db, sqlite:///var/lib/tasks.db), postgres://HOST/DATABASE or memory:.`,
  );
}

/** Messages end up in logs. A password may have any characters, and may be among the parameters. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/.*@/s, "//…@").replace(/\?.*$/s, "");
}
