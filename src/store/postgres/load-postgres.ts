import type { Origin, TaskRecord } from "../../task/record.ts";
import { inClear, type Codec } from "../codec.ts";
import {
  taskParts,
  taskTable,
  wholeTables,
  type DumpedTask,
  type DumpRow,
  type DumpTable,
} from "../dump-tables.ts";
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
import { toStored } from "../stored-text.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Database, Queries } from "./database.ts";
import { loadMark, loadMarkSql } from "./load-mark.ts";
import { migrateSchema } from "./migrate.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { markOriginal, refuseWhileInUse, type Original } from "./original-mark.ts";
import { columns, recordOf, requestIdText } from "./task-row.ts";
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
  const checked = await checkDump(file, checkTask);
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
    if (table !== taskTable) {
      await queries.query(this.#sql.insert(table.name), [
        JSON.stringify(rows.map((row) => rowFor(table, row))),
      ]);
      return;
    }
    const tasks = (rows as readonly DumpedTask[]).map(storedTask);
    await queries.query(this.#sql.insert(table.name), [JSON.stringify(tasks.map(({ row }) => row))]);
    const children = tasks.flatMap(({ task: { id, parent } }) =>
      parent === null
        ? []
        : {
            id: toStored(id),
            parent: toStored(parent.id),
            root: toStored(parent.root),
            key: toStored(parent.key),
          },
    );
    if (children.length > 0) await queries.query(this.#sql.insert("child"), [JSON.stringify(children)]);
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

/** The columns of a schema's tables that a dump fills. */
const filled: ReadonlyMap<string, readonly string[]> = new Map([
  ...taskParts.map(({ name, columns: all }): [string, readonly string[]] => [
    name,
    all.filter((column) => name !== "journal" || column !== "place"),
  ]),
  ...wholeTables.map(({ name, columns: all }): [string, readonly string[]] => [
    name,
    name === "owner" ? [...all, "lease_until"] : all,
  ]),
  [taskTable.name, columns.map(({ name }) => name)],
  ["child", ["id", "parent", "root", "key"]],
  ["request", ["task_id", "origin", "arguments", "prepared", "session", "request_id"]],
]);

export function loadStatements(names: Names) {
  return {
    ids: `SELECT id FROM ${names.task} WHERE id > $1 AND ($2::text IS NULL OR id <= $2::text COLLATE "C") ORDER BY id LIMIT $3`,
  };
}

/** With the statements about whole tables. */
function loadSql(names: Names) {
  const remove = writeStatements(names);
  const columnsOf = (name: string): readonly string[] => {
    const known = filled.get(name);
    if (known === undefined) throw new TypeError(`A dump has no table ${name}.`);
    return known;
  };
  return {
    content: ["task", "session", "action", "delivery", "paused_tool"]
      .map((name) => `(SELECT 1 FROM ${tableIn(names, name)} LIMIT 1)`)
      .join(" UNION ALL "),
    ...loadStatements(names),
    insert: (name: string): string => {
      const list = columnsOf(name).join(", ");
      const into = tableIn(names, name);
      return `INSERT INTO ${into} (${list}) OVERRIDING SYSTEM VALUE
        SELECT ${list} FROM json_populate_recordset(NULL::${into}, $1::json)`;
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
      ...["action", "delivery"].map(
        (name) => `SELECT setval(pg_get_serial_sequence('${tableIn(names, name)}', 'seq'),
          (SELECT coalesce(max(seq), 0) + 1 FROM ${tableIn(names, name)}), false)`,
      ),
      // Until the database counts its rows by itself, it would plan as for empty tables.
      `ANALYZE ${[names.task, names.request, names.journal, names.outcome, names.line].join(", ")}`,
    ],
  };
}

/** A row as the tables of a schema have it. */
function rowFor({ name }: DumpTable, row: DumpRow): DumpRow {
  if (name === "owner") return { ...row, lease_until: "-infinity" };
  if (name !== "request") return row;
  const { session, requestId } = JSON.parse(String(row["origin"])) as Origin;
  return {
    ...row,
    session: session === undefined ? null : toStored(session),
    request_id: session === undefined || requestId === undefined ? null : toStored(requestIdText(requestId)),
  };
}

/** A task as its row has it, whose proof stays as it was. */
function storedTask({ record, proof }: DumpedTask): { readonly task: TaskRecord; readonly row: DumpRow } {
  const task = JSON.parse(record) as TaskRecord;
  const codec: Codec = { ...inClear, proofOf: () => proof };
  return { task, row: Object.fromEntries(columns.map(({ name, value }) => [name, value(task, codec)])) };
}

function checkTask({ id, version, record }: DumpedTask): void {
  if (recordOf([id, record], inClear).version !== version) throw new Error("it is another task");
}
