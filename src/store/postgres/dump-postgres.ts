import { type DumpSetup, dumpSource, type DumpSource, type MadeDump } from "../dump.ts";
import type { Query, Reading } from "../dialect.ts";
import {
  columnList,
  type DumpRow,
  type DumpTable,
  rowOf,
  tablesOfDump,
  taskParts,
  taskTable,
} from "../dump-tables.ts";
import { type LoadMark, refuseWhileLoading } from "../load-mark.ts";
import { idsSql, loadSql, TableTarget } from "../load-target.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import { loadMark, marksOriginal, type Original, originalAt, refuseWhileInUse } from "./original-mark.ts";
import { migrateSchema, prepareSchema } from "./migrate.ts";
import { defaultSchema, type Names, namesIn } from "./names.ts";
import { tableIn, withoutTimeouts } from "./schema.ts";
import { beginLoad, checkDump, type CheckedDump, loadDump, type LoadSetup } from "../load.ts";
import { inTurn } from "./read-task.ts";
import { totalKey } from "./task-sql.ts";

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

/**
 * Loads a dump into a schema, which is made if there is none. Rejects with `configuration` if it is not empty, with `store_locked` while
 * processes have it open, and with `store_unusable` for an unusable dump.
 */
export async function loadPostgres(
  url: string,
  { schema = defaultSchema }: { readonly schema?: string },
  file: string,
  setup: LoadSetup,
): Promise<CheckedDump> {
  const names = namesIn(schema);
  const checked = await checkDump(file, setup);
  const { store, original } = checked.header;
  try {
    await withPatience(url, timeoutMs, async (database) => {
      await migrateSchema(database, names);
      const isOriginal = store === "postgres" && !setup.beside;
      const target = new PostgresTarget(
        database,
        names,
        isOriginal ? (original as unknown as Original) : undefined,
      );
      await beginLoad(checked, target);
      await loadDump(file, checked, target, setup);
    });
    return checked;
  } catch (error) {
    throw unusableAt(url, error);
  }
}

/** The schema that is filled. */
class PostgresTarget extends TableTarget {
  readonly #database: Database;
  readonly #names: Names;
  readonly #original: Original | undefined;

  constructor(database: Database, names: Names, original: Original | undefined) {
    super(`Schema ${names.schema} of the database`, sqlIn(names));
    this.#database = database;
    this.#names = names;
    this.#original = original;
  }

  mark(): Promise<LoadMark | undefined> {
    return loadMark(this.#database, this.#names);
  }

  /** A server that opens the schema at the same time sees the mark after it has registered, or is seen here. */
  override async begin(mark: LoadMark): Promise<void> {
    await super.begin(mark);
    try {
      await refuseWhileInUse(this.#database, this.#names);
    } catch (error) {
      await this.#database.query(sqlIn(this.#names).mark.drop);
      throw error;
    }
  }

  protected insert(table: DumpTable, rows: readonly DumpRow[]): Iterable<Query> {
    const isOwner = table.name === "owner";
    const columns = `${columnList(table)}${isOwner ? ", lease_until" : ""}`;
    const into = tableIn(this.#names, table.name);
    // An owner of before is dead.
    const values = isOwner ? rows.map((row) => ({ ...row, lease_until: "-infinity" })) : rows;
    const sql = `INSERT INTO ${into} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM json_populate_recordset(NULL::${into}, $1::json)`;
    return [{ sql, values: [JSON.stringify(values)] }];
  }

  protected *finish(): Iterable<Query> {
    for (const sql of finishing(this.#names)) yield { sql, values: [] };
    if (this.#original !== undefined) yield* marksOriginal(this.#names, this.#original);
  }

  protected async transaction<T>(reading: Reading<T>): Promise<T> {
    const transaction = await this.#database.begin();
    try {
      await transaction.query(withoutTimeouts);
      const done = await inTurn(transaction, reading);
      await transaction.commit();
      return done;
    } finally {
      await transaction.rollback();
    }
  }
}

function sqlIn(names: Names) {
  return { ...loadSql((table) => tableIn(names, table), "postgres"), ...loadStatements(names) };
}

export function loadStatements(names: Names) {
  return { ids: idsSql(names.task, "postgres") };
}

/** Counts the tasks, and goes on behind the numbers that are there. */
function finishing(names: Names): readonly string[] {
  return [
    `DELETE FROM ${names.usage}`,
    `INSERT INTO ${names.usage} (key, slot, unfinished, retained)
      SELECT coalesce('p' || principal, '${totalKey}'), 0,
        count(*) FILTER (WHERE state IN ('queued', 'running')), count(*)
      FROM ${names.task} WHERE NOT EXISTS (SELECT 1 FROM ${names.child} WHERE child.id = task.id)
      GROUP BY GROUPING SETS ((), (principal)) HAVING count(*) > 0 AND (GROUPING(principal) = 1 OR principal IS NOT NULL)`,
    ...numbered.map(
      ({ name, serial }) => `SELECT setval(pg_get_serial_sequence('${tableIn(names, name)}', '${serial}'),
        (SELECT coalesce(max(${serial}), 0) + 1 FROM ${tableIn(names, name)}), false)`,
    ),
    // Until the database counts its rows by itself, it would plan as for empty tables.
    `ANALYZE ${[names.task, names.request, names.journal, names.outcome, names.line].join(", ")}`,
  ];
}

const numbered = [...tablesOfDump.values()].filter(({ serial }) => serial !== undefined);
