import {
  assertOptions,
  flag,
  settingsOf as withDefaults,
  size,
  tableOf,
  time,
} from "../../options/options.ts";

class DeclaredSqliteStoreOptions {
  /** How long a write waits for another program that locks the file, such as a backup. Default 5 seconds. */
  // SQLite takes at most 24 days.
  readonly busyTimeoutMs?: number = time({
    min: 1,
    max: 7 * 24 * 3_600_000,
    default: 5_000,
    variable: "HOLDFAST_SQLITE_BUSY_TIMEOUT",
  });
  /** Maximum size of the database file, without its log. Writes beyond it fail. Default: no limit. */
  readonly maxBytes?: number = size({ min: 1, variable: "HOLDFAST_SQLITE_MAX_BYTES" });
  /**
   * Whether opening the store may create what is missing, or upgrade an older schema. If not, the store is `store_unusable` until somebody
   * else did. Default `true`.
   */
  readonly migrate?: boolean = flag({ default: true, variable: "HOLDFAST_MIGRATE" });
}

export interface SqliteStoreOptions extends DeclaredSqliteStoreOptions {}

export const sqliteStoreOptions = tableOf<SqliteStoreOptions>(DeclaredSqliteStoreOptions);

export interface Settings {
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  readonly migrate: boolean;
}

/** Throws `configuration` for invalid options. */
export function settingsOf(options: SqliteStoreOptions): Settings {
  assertOptions("sqliteStore", options, sqliteStoreOptions);
  const { maxBytes = null, ...others } = withDefaults<SqliteStoreOptions, "maxBytes">(
    sqliteStoreOptions,
    options,
  );
  return { ...others, maxBytes };
}
