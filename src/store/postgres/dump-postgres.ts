import { dumpSource, type DumpSetup, type DumpSource, type MadeDump } from "../dump.ts";
import { columnList, rowOf, taskParts, taskTable, type DumpRow, type DumpTable } from "../dump-tables.ts";
import { refuseWhileLoading } from "../load-mark.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Queries, SqlValue } from "./database.ts";
import { loadMark } from "./load-mark.ts";
import { prepareSchema } from "./migrate.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { originalAt } from "./original-mark.ts";
import { tableIn, withoutTimeouts } from "./whole-schema.ts";

/** How long the database may take to answer (ms); the dump itself has no limit. */
const timeoutMs = 10_000;

/** About how many characters are read at a time. */
const wantedLength = 1024 * 1024;
const mostRows = 1_000;

/**
 * Dumps a schema as of one moment, while its owners keep writing. Rejects with `configuration` if the file exists, and with
 * `store_unusable` if the schema cannot be read.
 */
export async function dumpPostgres(
  url: string,
  { schema = defaultSchema }: { readonly schema?: string },
  file: string,
  setup: DumpSetup,
): Promise<MadeDump> {
  const names = namesIn(schema);
  try {
    return await withPatience(url, timeoutMs, async (database) => {
      const original = await originalAt(database, names);
      const transaction = await database.begin();
      try {
        await transaction.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        await transaction.query(withoutTimeouts);
        await prepareSchema(transaction, names, undefined);
        refuseWhileLoading(`Schema ${schema}`, (await loadMark(transaction, names)) !== undefined);
        return await dumpSource(sourceIn(transaction, names, original), file, setup);
      } finally {
        await transaction.rollback();
      }
    });
  } catch (error) {
    throw unusableAt(url, error);
  }
}

function sourceIn(queries: Queries, names: Names, original: DumpSource["original"]): DumpSource {
  const sql = dumpStatements(names);
  return {
    store: "postgres",
    original,
    versions: async (after, limit) =>
      (await queries.query(sql["versions"] ?? "", [after, limit])).map(([id, version]) => [
        String(id),
        Number(version),
      ]),
    of: (table, ids) => rowsOf(queries, table, sql[table.name] ?? "", [ids]),
    whole: (table) => rowsOf(queries, table, wholeTable(names, table), []),
  };
}

/** Rows can be small or large, so the count adapts. */
async function* rowsOf(
  queries: Queries,
  table: DumpTable,
  select: string,
  values: readonly SqlValue[],
): AsyncGenerator<DumpRow> {
  await queries.query(`DECLARE dump NO SCROLL CURSOR FOR ${select}`, values);
  for (let count = 10; ;) {
    const rows = await queries.query(`FETCH ${count} FROM dump`);
    let length = 1;
    for (const values_ of rows) {
      for (const value of values_) length += typeof value === "string" ? value.length : 8;
      yield rowOf(table, values_);
    }
    if (rows.length < count) break;
    count = Math.max(1, Math.min(mostRows, count * 2, Math.floor((count * wantedLength) / length)));
  }
  await queries.query("CLOSE dump");
}

/** The statements that read some tasks, and, by table, what belongs to them. */
export function dumpStatements(names: Names): Readonly<Record<string, string>> {
  const parts = taskParts.map((table): [string, string] => [
    table.name,
    `${selectFrom(names, table)} WHERE task_id = ANY($1::text[]) ORDER BY ${table.order}`,
  ]);
  return {
    versions: `SELECT id, version FROM ${names.task} WHERE id > $1 ORDER BY id LIMIT $2`,
    [taskTable.name]: `${selectFrom(names, taskTable)} WHERE id = ANY($1::text[]) ORDER BY id`,
    ...Object.fromEntries(parts),
  };
}

/** A message that is bound to a process is of no use to any other. */
function wholeTable(names: Names, table: DumpTable): string {
  const where = table.name === "message" ? " WHERE owner IS NULL" : "";
  return `${selectFrom(names, table)}${where} ORDER BY ${table.order}`;
}

function selectFrom(names: Names, table: DumpTable): string {
  // The only column whose type is of this kind of store alone.
  const columns = columnList(table).replace(
    /\bsince\b/,
    table.name === "owner" ? `to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')` : "since",
  );
  return `SELECT ${columns} FROM ${tableIn(names, table.name)}`;
}
