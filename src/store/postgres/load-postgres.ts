import { columnList, tablesOfDump, wholeTables, type DumpRow, type DumpTable } from "../dump-tables.ts";
import {
  beginLoad,
  checkDump,
  loadDump,
  type CheckedDump,
  type LoadBatch,
  type LoadSetup,
  type LoadTarget,
} from "../load.ts";
import { notEmpty, otherLoad, type LoadMark } from "../load-mark.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Database, Queries } from "./database.ts";
import { loadMark, loadMarkSql } from "./load-mark.ts";
import { migrateSchema } from "./migrate.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { markOriginal, refuseWhileInUse, type Original } from "./original-mark.ts";
import { writeStatements } from "./task-sql.ts";
import { totalKey } from "./usage-sql.ts";
import { tableIn, withoutTimeouts } from "./whole-schema.ts";

/** How long the database may take to answer (ms); the load itself has no limit. */
const timeoutMs = 10_000;

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
  const remove = writeStatements(names);
  return {
    content: ["task", "session", "action", "bulk_job", "delivery", "paused_tool"]
      .map((name) => `(SELECT 1 FROM ${tableIn(names, name)} LIMIT 1)`)
      .join(" UNION ALL "),
    ...loadStatements(names),
    insert: (table: DumpTable): string => {
      const columns = `${columnList(table)}${table.name === "owner" ? ", lease_until" : ""}`;
      const into = tableIn(names, table.name);
      return `INSERT INTO ${into} (${columns}) OVERRIDING SYSTEM VALUE
        SELECT ${columns} FROM json_populate_recordset(NULL::${into}, $1::json)`;
    },
    removes: [
      remove.deleteTasks,
      remove.deleteRequests,
      remove.deleteJournals,
      remove.deleteOutcomes,
      remove.deleteChildren,
      remove.deleteEventsOf,
      remove.deleteLinesOf,
      remove.deleteMessagesOf,
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
