import { assertNodeVersion } from "../../task/package.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { StoreOwner } from "../../task/queue.ts";
import type { TaskStore } from "../store.ts";
import { databasePath, existingDatabase } from "./database-path.ts";
import { openDatabase } from "./open-database.ts";
import { settingsOf, type Settings, type SqliteStoreOptions } from "./options.ts";
import { fileIsGone, OpenFile } from "./open-file.ts";
import { checkFiles } from "./private-files.ts";
import { removeLockFile } from "./owner-lock.ts";
import { openReader, type SqliteReader } from "./sqlite-reader.ts";
import { StoreOnSqlite, type OpenDatabase, type Publisher } from "./store-on-sqlite.ts";
import { unusable } from "./unusable.ts";
import { refuseForeignFile } from "./writer-connection.ts";
import { startWriterThread, Writer } from "./writer.ts";

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
