import { randomBytes } from "node:crypto";
import { writeBackup } from "../../src/store/backup-file.ts";
import { backupSqlite } from "../../src/store/sqlite/backup-sqlite.ts";

/** Makes a backup of a database, or of random bytes, where it may write small files only; prints what that failed with. */
const [database = "", file = ""] = process.argv.slice(2);
const { signal } = new AbortController();
const header = { store: "sqlite", schema: 1, tasks: 0, at: "", original: {} } as const;

async function* noise(): AsyncGenerator<Uint8Array> {
  yield randomBytes(1024 * 1024);
}

try {
  if (database === "noise") await writeBackup(file, header, noise(), signal);
  else await backupSqlite(database, file, { now: 0, signal });
} catch (error) {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  console.log(JSON.stringify({ code, message }));
}
