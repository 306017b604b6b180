import { HoldfastError } from "../../task/fault.ts";
import { writeBackup, type BackupHeader, type BackupSetup, type MadeBackup } from "../backup-file.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Queries } from "./database.ts";
import { usableVersion } from "./migrate.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { originalAt } from "./original-mark.ts";
import { firstNumber, firstText, tableIn, tablesOf, withoutTimeouts } from "./whole-schema.ts";

/** How long the database may take to answer (ms); the backup itself has no limit. */
const timeoutMs = 10_000;

/** About how many bytes are read at a time. */
const wantedBytes = 1024 * 1024;
const mostRows = 1_000;

/** Tables about living owners and their state, and those that a restore makes itself. */
const leftOut: ReadonlySet<string> = new Set([
  "migration",
  "committed",
  "session_news",
  "report",
  "restored_from",
]);

/**
 * Backs up a schema as of one moment, while its owners keep writing: one line for the name of each table, and one for each of its rows.
 * Rejects with `configuration` if the file exists, and with `store_unusable` if the schema cannot be read.
 */
export async function backupPostgres(
  url: string,
  { schema = defaultSchema }: { readonly schema?: string },
  file: string,
  { now, signal }: BackupSetup,
): Promise<MadeBackup> {
  const names = namesIn(schema);
  try {
    return await withPatience(url, timeoutMs, async (database) => {
      const original = await originalAt(database, names);
      const transaction = await database.begin();
      try {
        await transaction.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        await transaction.query(withoutTimeouts);
        const { version } = await usableVersion(transaction, names);
        if (version === 0)
          throw new HoldfastError(
            "store_unusable",
            `The database has no Holdfast tables in schema ${schema}.`,
          );
        const tasks = firstNumber((await transaction.query(`SELECT count(*) FROM ${names.task}`))[0]);
        const at = new Date(now).toISOString();
        const header: BackupHeader = { store: "postgres", schema: version, tasks, at, original };
        return { tasks, bytes: await writeBackup(file, header, linesOf(transaction, names), signal) };
      } finally {
        await transaction.rollback();
      }
    });
  } catch (error) {
    throw unusableAt(url, error);
  }
}

async function* linesOf(queries: Queries, names: Names): AsyncGenerator<string> {
  for (const table of await tablesOf(queries, names)) {
    if (leftOut.has(table)) continue;
    yield `${JSON.stringify(table)}\n`;
    await queries.query(
      `DECLARE backup NO SCROLL CURSOR FOR SELECT row_to_json(t)::text FROM ${tableIn(names, table)} AS t`,
    );
    // Rows can be small or large, so the count adapts.
    for (let count = 10; ;) {
      const rows = await queries.query(`FETCH ${count} FROM backup`);
      const text = rows.map((row) => `${firstText(row)}\n`).join("");
      if (text !== "") yield text;
      if (rows.length < count) break;
      count = Math.max(1, Math.min(mostRows, count * 2, Math.floor((count * wantedBytes) / text.length)));
    }
    await queries.query("CLOSE backup");
  }
}
