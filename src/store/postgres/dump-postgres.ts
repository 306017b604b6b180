import { type DumpSetup, dumpSource, type DumpSource, type MadeDump } from "../dump.ts";
import {
  columnList,
  contentTables,
  type DumpRow,
  type DumpTable,
  rowOf,
  tablesOfDump,
  taskParts,
  taskTable,
  wholeTables,
} from "../dump-tables.ts";
import { type LoadMark, notEmpty, otherLoad, refuseWhileLoading } from "../load-mark.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import {
  loadMark,
  loadMarkSql,
  markOriginal,
  type Original,
  originalAt,
  refuseWhileInUse,
} from "./original-mark.ts";
import { migrateSchema, prepareSchema } from "./migrate.ts";
import { defaultSchema, type Names, namesIn } from "./names.ts";
import { tableIn, withoutTimeouts } from "./schema.ts";
import {
  beginLoad,
  checkDump,
  type CheckedDump,
  type LoadBatch,
  loadDump,
  type LoadSetup,
  type LoadTarget,
} from "../load.ts";
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
class PostgresTarget implements LoadTarget {
  readonly #database: Database;
  readonly #names: Names;
  readonly #original: Original | undefined;
  readonly #sql: ReturnType<typeof loadSql>;
  readonly #mark: ReturnType<typeof loadMarkSql>;

  constructor(database: Database, names: Names, original: Original | undefined) {
    this.#database = database;
    this.#names = names;
    this.#original = original;
    this.#sql = loadSql(names);
    this.#mark = loadMarkSql(names);
  }

  mark(): Promise<LoadMark | undefined> {
    return loadMark(this.#database, this.#names);
  }

  /** A server that opens the schema at the same time sees the mark after it has registered, or is seen here. */
  async begin({ dump, lines }: LoadMark): Promise<void> {
    await this.#inTransaction(async (queries) => {
      const [content] = await queries.query(this.#sql.content);
      if (content !== undefined) throw notEmpty(`Schema ${this.#names.schema} of the database`);
      await queries.query(this.#mark.create);
      await queries.query(this.#mark.insert, [dump, lines]);
    });
    try {
      await refuseWhileInUse(this.#database, this.#names);
    } catch (error) {
      await this.#database.query(this.#mark.drop);
      throw error;
    }
  }

  async ids(after: string, upTo: string | undefined, limit: number): Promise<readonly string[]> {
    const rows = await this.#database.query(this.#sql.ids, [after, upTo ?? null, limit]);
    return rows.map(([id]) => String(id));
  }

  async write({ removes, empties, rows, from, to }: LoadBatch): Promise<void> {
    await this.#inTransaction(async (queries) => {
      const moved = await queries.query(this.#mark.move, [to.dump, to.lines, from.dump, from.lines]);
      if (moved.length !== 1) throw otherLoad();
      if (removes.length > 0)
        for (const statement of this.#sql.removes) await queries.query(statement, [removes]);
      if (empties) for (const statement of this.#sql.empties) await queries.query(statement);
      for (const [table, each] of rows) await this.#insert(queries, table, each);
    });
  }

  async open(): Promise<void> {
    await this.#inTransaction(async (queries) => {
      for (const statement of this.#sql.finish) await queries.query(statement);
      if (this.#original !== undefined) await markOriginal(queries, this.#names, this.#original);
      await queries.query(this.#mark.drop);
    });
  }

  async #insert(queries: Queries, table: DumpTable, rows: readonly DumpRow[]): Promise<void> {
    // An owner of before is dead.
    const values = table.name === "owner" ? rows.map((row) => ({ ...row, lease_until: "-infinity" })) : rows;
    await queries.query(this.#sql.insert(table), [JSON.stringify(values)]);
  }

  async #inTransaction(write: (queries: Queries) => Promise<void>): Promise<void> {
    const transaction = await this.#database.begin();
    try {
      await transaction.query(withoutTimeouts);
      await write(transaction);
      await transaction.commit();
    } finally {
      await transaction.rollback();
    }
  }
}

export function loadStatements(names: Names) {
  return {
    ids: `SELECT id FROM ${names.task} WHERE id > $1 AND ($2::text IS NULL OR id <= $2::text COLLATE "C") ORDER BY id LIMIT $3`,
  };
}

/** With the statements about whole tables. */
function loadSql(names: Names) {
  return {
    content: contentTables
      .map(({ name }) => `(SELECT 1 FROM ${tableIn(names, name)} LIMIT 1)`)
      .join(" UNION ALL "),
    ...loadStatements(names),
    insert: (table: DumpTable): string => {
      const columns = `${columnList(table)}${table.name === "owner" ? ", lease_until" : ""}`;
      const into = tableIn(names, table.name);
      return `INSERT INTO ${into} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM json_populate_recordset(NULL::${into}, $1::json)`;
    },
    removes: [
      ...taskParts.map(({ name }) => `DELETE FROM ${tableIn(names, name)} WHERE task_id = ANY($1::text[])`),
      `DELETE FROM ${names.task} WHERE id = ANY($1::text[])`,
    ],
    empties: wholeTables.map(({ name }) => `DELETE FROM ${tableIn(names, name)}`),
    finish: [
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
    ],
  };
}

const numbered = [...tablesOfDump.values()].filter(({ serial }) => serial !== undefined);
