import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { openPool, unusableAt, withPatience } from "./connections.ts";
import { Database } from "./database.ts";
import { migrations, migrateSchema, usableVersion } from "./migrate.ts";
import { defaultSchema, namesIn, queueSchema, type Names } from "./names.ts";
import { loadQueueLibrary } from "./queue-library.ts";

/** How long the database may take to answer (ms); a migration itself takes as long as it takes. */
const timeoutMs = 10_000;

export interface MigratePostgresOptions {
  /** The schema with the store's tables, as in `PostgresStoreOptions`. Default `holdfast`. */
  readonly schema?: string;
  /** Whether the schema of the queue, `<schema>_queue`, is brought up to date as well. Default: where the package graphile-worker is installed. */
  readonly queue?: boolean;
  /** Whether only to look at what would be done. Default false. */
  readonly dryRun?: boolean;
}

/** What was done, or would be. */
export interface PostgresMigration {
  readonly schema: string;
  /** The version that the schema had; 0: there was none. */
  readonly from: number;
  /** The one that it has now, or would have. */
  readonly to: number;
  /** The schema of the queue, which its package brought up to date, or would; null: it was left alone. */
  readonly queue: string | null;
}

const optionNames: OptionNames<MigratePostgresOptions> = { schema: true, queue: true, dryRun: true };

/**
 * Brings the schema of a store up to date, for processes that open it with `migrate: false`; `holdfast migrate` does the same. It may run while processes of the version
 * before work, and any number of times. The URL is that of the database itself: the queue's schema cannot be made through a pooler.
 *
 * ```ts
 * import { migratePostgres } from "holdfast/postgres";
 *
 * const { from, to } = await migratePostgres("postgres://admin@db.internal/tasks");
 * console.log(from === to ? "nothing to do" : `went from version ${from} to ${to}`);
 * ```
 *
 * Rejects with `configuration` for an invalid option, and with `store_unusable` where the database cannot be reached, the role may not do it, or the schema
 * is one of later versions.
 */
export async function migratePostgres(
  url: string,
  options: MigratePostgresOptions = {},
): Promise<PostgresMigration> {
  assertOptionNames("migratePostgres", options, optionNames);
  const { schema = defaultSchema, queue, dryRun = false } = options;
  const names = namesIn(schema);
  const library = queue === false ? undefined : await loadQueueLibrary(queue === true);
  try {
    const from = await versionAt(url, names);
    const to = Math.max(from, migrations.length);
    const migration = { schema, from, to, queue: library === undefined ? null : queueSchema(names) };
    if (dryRun) return migration;
    await withPatience(url, timeoutMs, (patient) => migrateSchema(patient, names));
    if (library !== undefined) {
      const { migrateQueue } = await import("./migrate-queue.ts"); // which needs the driver
      await migrateQueue(library, queueSchema(names), { connectionString: url });
    }
    return migration;
  } catch (error) {
    throw unusableAt(url, error);
  }
}

async function versionAt(url: string, names: Names): Promise<number> {
  const database = new Database(await openPool({ url, max: 1, timeoutMs }), timeoutMs);
  try {
    return (await usableVersion(database, names)).version;
  } finally {
    await database.close();
  }
}
