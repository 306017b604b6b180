import { dumpSqlite } from "../../src/store/sqlite/dump-sqlite.ts";

/** Dumps a database where it may write small files only; prints what that failed with. */
const [database = "", file = ""] = process.argv.slice(2);
const { signal } = new AbortController();

try {
  await dumpSqlite(database, file, { now: 0, since: undefined, signal });
} catch (error) {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  console.log(JSON.stringify({ code, message }));
}
