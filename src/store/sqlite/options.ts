import type { TimeSpan } from "../../task/time.ts";
import type { Kind } from "../../options/kind.ts";
import {
  assertOptions,
  flag,
  row,
  settingsOf as withDefaults,
  size,
  tableOf,
  time,
} from "../../options/options.ts";
import type { FileMode } from "./private-files.ts";

const octal = (mode: unknown): string => `0o${Number(mode).toString(8)}`;

const fileModeKind: Kind = {
  words: "`0o600` or `0o660`",
  accepts: (mode) => mode === 0o600 || mode === 0o660,
  parse: (text) => (/^(0?o?)[0-7]{3}$/.test(text) ? Number.parseInt(text.replace("o", ""), 8) : Number.NaN),
  textOf: octal,
  wordsOf: (mode) => `\`${octal(mode)}\``,
};

class DeclaredSqliteStoreOptions {
  /** How long a write waits for another program that locks the file, such as a backup. Default 5 seconds. */
  // SQLite takes at most 24 days.
  readonly busyTimeoutMs?: TimeSpan = time({
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
  /**
   * The mode of the files that the store makes, whatever the umask: only for the user of this process, or with `0o660` for a group too, of
   * which any user may then open the store, in a folder that has the group and its setgid bit; folders that it makes get `0o700` or `0o770`. Files that exist keep their mode. Has no effect on Windows.
   * Default `0o600`.
   */
  readonly fileMode?: FileMode = row(fileModeKind, {
    default: 0o600,
    variable: "HOLDFAST_SQLITE_FILE_MODE",
  });
  /**
   * Whether to refuse a database, with `store_unusable`, when other users can get at it: a file of another user, a file that everybody can
   * read, or a folder that others can change. If not, opening it prints a warning. Has no effect on Windows. Default `false`.
   */
  readonly strictFiles?: boolean = flag({ default: false, variable: "HOLDFAST_SQLITE_STRICT_FILES" });
}

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions extends DeclaredSqliteStoreOptions {}

export const sqliteStoreOptions = tableOf<SqliteStoreOptions>(DeclaredSqliteStoreOptions);

export interface Settings {
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  readonly migrate: boolean;
  readonly fileMode: FileMode;
  readonly strictFiles: boolean;
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
