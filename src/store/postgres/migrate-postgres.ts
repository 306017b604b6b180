import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { openDatabase, unusableAt, withPatience } from "./connections.ts";
import { migrateSchema, usableVersion } from "./migrate.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { migrations } from "./schema.ts";

/** How long the database may take to answer (ms). A migration itself has no limit. */
const timeoutMs = 10_000;

/** Options of `migratePostgres`. */
export interface MigratePostgresOptions {
  /** The schema with the store's tables, as in `PostgresStoreOptions`. Default `holdfast`. */
  readonly schema?: string;
  /** Only reports what it would do. Default false. */
  readonly dryRun?: boolean;
}

/** What was done, or with `dryRun` would be. */
export interface PostgresMigration {
  readonly schema: string;
  /** The version before; 0: there was no schema. */
  readonly from: number;
  /** The version now, or with `dryRun` the one after a migration. */
  readonly to: number;
}

const optionNames: OptionNames<MigratePostgresOptions> = { schema: true, dryRun: true };

/**
 * Upgrades the schema of a store, for processes that open it with `migrate: false`; `holdfast migrate` does the same. You can run it while
 * processes of the previous version work, and any number of times.
 *
 * ```ts
 * import { migratePostgres } from "holdfast/postgres";
 *
 * const { from, to } = await migratePostgres("postgres://admin@db.internal/tasks");
 * console.log(from === to ? "nothing to do" : `went from version ${from} to ${to}`);
 * ```
 *
 * Rejects with `configuration` for an invalid option, and with `store_unusable` if the database cannot be reached, the role lacks
 * permission, or the schema is from a later version.
 */
export async function migratePostgres(
  url: string,
  options: MigratePostgresOptions = {},
): Promise<PostgresMigration> {
  assertOptionNames("migratePostgres", options, optionNames);
  const { schema = defaultSchema, dryRun = false } = options;
  const names = namesIn(schema);
  try {
    const from = await versionAt(url, names);
    const to = Math.max(from, migrations.length);
    const migration = { schema, from, to };
    if (dryRun) return migration;
    await withPatience(url, timeoutMs, (patient) => migrateSchema(patient, names));
    return migration;
  } catch (error) {
    throw unusableAt(url, error);
  }
}

async function versionAt(url: string, names: Names): Promise<number> {
  const database = await openDatabase({ url, max: 1, timeoutMs });
  try {
    return (await usableVersion(database, names)).version;
  } finally {
    await database.close();
  }
}
