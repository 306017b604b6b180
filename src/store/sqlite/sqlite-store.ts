import type { TimeSpan } from "../../task/time.ts";
import type { Kind } from "../../options/kind.ts";
import {
  assertOptions,
  flag,
  row,
  size,
  tableOf,
  time,
  settingsOf as withDefaults,
} from "../../options/options.ts";
import { checkFiles, type FileMode } from "./private-files.ts";
import { assertNodeVersion } from "../../task/package.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { StoreOwner } from "../../task/queue.ts";
import type { TaskStore } from "../store.ts";
import { databasePath, existingDatabase, fileIsGone, OpenFile } from "./open-file.ts";
import { openDatabase } from "./open-database.ts";
import { removeLockFile } from "./sqlite-owners.ts";
import { openReader, type SqliteReader } from "./sqlite-reader.ts";
import { type OpenDatabase, type Publisher, StoreOnSqlite } from "./store-on-sqlite.ts";
import { unusable } from "./statements.ts";
import { refuseForeignFile } from "./writer-connection.ts";
import { startWriterThread, Writer } from "./writer.ts";

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
  /**
   * Maximum size of the database file, without its log. Beyond it, new tasks and what running ones write is refused; their ends may take
   * an eighth more, and whoever cancels or deletes is never refused. Default: no limit.
   */
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

interface Settings {
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  readonly migrate: boolean;
  readonly fileMode: FileMode;
  readonly strictFiles: boolean;
}

/** Throws `configuration` for invalid options. */
function settingsOf(options: SqliteStoreOptions): Settings {
  assertOptions("sqliteStore", options, sqliteStoreOptions);
  const { maxBytes = null, ...others } = withDefaults<SqliteStoreOptions, "maxBytes">(
    sqliteStoreOptions,
    options,
  );
  return { ...others, maxBytes };
}

/**
 * A store in one SQLite file on a local disk, for any number of processes on one machine. Missing directories are created. Only the user
 * of this process can read what it makes, or a group too with `fileMode`.
 *
 * A process must not open the database's files (`path`, and files and folders whose names begin with it) in any other way, not even to read
 * them: closing a file drops all locks that the process holds on it, and other processes would consider it dead. A tool that reads folders
 * chosen by users has to skip these files.
 *
 * Throws `node_too_old` if this Node has no SQLite, and `configuration` for an invalid path or option.
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): TaskStore {
  assertNodeVersion(process.versions.node);
  const settings = settingsOf(options);
  if (typeof path !== "string" || path === "" || path === ":memory:") {
    throw new HoldfastError(
      "configuration",
      "sqliteStore needs the path of a file. To keep tasks in memory only, use memoryStore().",
    );
  }
  // It would be a relative path: the tasks would be in a folder of that name, and the password in its name.
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(path)?.[1]?.toLowerCase();
  if (scheme !== undefined) {
    const instead = /^postgres(?:ql)?$/.test(scheme)
      ? "For Postgres, use postgresStore."
      : "Give it a path, such as tasks.db.";
    throw new HoldfastError(
      "configuration",
      `sqliteStore needs the path of a file, not a URL with ${scheme}://. ${instead}`,
    );
  }
  return new StoreOnSqlite(path, (owner, publisher) => openFile(path, settings, owner, publisher));
}

async function openFile(
  given: string,
  settings: Settings,
  owner: StoreOwner,
  publisher: Publisher,
): Promise<OpenDatabase> {
  const { fileMode } = settings;
  const path = settings.migrate ? databasePath(given, fileMode) : existingDatabase(given);
  refuseForeignFile(path, settings.migrate);
  checkFiles(path, settings);
  const { lock, joined } = await openDatabase(path, owner, () => join(path, settings, owner, publisher), {
    fileMode,
  });
  const { writer, reader, others, file } = joined;
  // A process that no longer writes is as good as dead: others take over its tasks.
  void writer.ended.then(() => lock.release());
  return {
    owner: owner.id,
    writer,
    reader,
    others,
    encrypt: (sealing) => {
      reader.encrypt(sealing);
      writer.encrypt(sealing);
    },
    lost: async () => {
      if (!(await file.isGone((mark) => writer.write({ type: "mark_file", mark })))) return undefined;
      const fault = fileIsGone(path);
      await writer.lose(fault);
      return fault;
    },
    forget: (lost) => removeLockFile(path, lost),
    close: async () => {
      others.close();
      file.close();
      // The writer closes last: only the last connection, if it can write, removes its log.
      reader.close();
      await writer.stop();
      lock.release();
    },
  };
}

async function join(path: string, settings: Settings, owner: StoreOwner, publisher: Publisher) {
  const thread = startWriterThread({ path, owner, ...settings });
  const writer = await Writer.start(thread, publisher.committed);
  let reader: SqliteReader | undefined;
  try {
    reader = openReader(path, settings.busyTimeoutMs);
    const others = reader.othersThan(owner.id, path, publisher.committedByOthers);
    return { writer, reader, others, file: new OpenFile(path) };
  } catch (error) {
    reader?.close();
    await writer.stop();
    throw unusable(path, error);
  }
}
