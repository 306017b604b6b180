import type { AnyTable, Dialect, WrittenColumn } from "./table.ts";
import type { BulkJob, BulkTask } from "../../task/bulk.ts";
import type { StoredAction } from "../../task/record.ts";
import type { BulkCounts } from "../admin-store.ts";
import { inClear, type Row } from "../row.ts";
import { actionTable, bulkJobsKeptMs, bulkTaskTable } from "./tables.ts";

/** Writes a row of `values`. */
export function insertInto({ table, written }: AnyTable): string {
  return `INSERT INTO ${table} (${written.map(({ name }) => name).join(", ")}) VALUES (${written.map(() => "?").join(", ")})`;
}

/** The same; columns that are written once stay as they are. */
export function upsertInto(table: AnyTable): string {
  const changed = table.written.filter(({ isWrittenOnce }) => !isWrittenOnce);
  return `${insertInto(table)} ON CONFLICT (${table.key.join(", ")}) DO UPDATE SET
    ${changed.map(({ name }) => `${name} = excluded.${name}`).join(", ")}`;
}

/** Writes rows, with one parameter for each column: the arrays that `byColumn` makes of their `values`. */
export function insertRows(table: AnyTable, name: string): string {
  const columns = table.written.map((column) => column.name).join(", ");
  return `INSERT INTO ${name} (${columns}) SELECT * FROM unnest(${arrays(table.written)})`;
}

/** The same; of a row with the same key, columns that are written once stay as they are. */
export function upsertRows(table: AnyTable, name: string): string {
  const changed = table.written.filter(({ isWrittenOnce }) => !isWrittenOnce);
  return `${insertRows(table, name)} ON CONFLICT (${table.key.join(", ")}) DO UPDATE SET
    ${changed.map((column) => `${column.name} = excluded.${column.name}`).join(", ")}`;
}

/** Writes these columns of rows: the first parameter has the ids. */
export function updateRows(table: AnyTable, name: string, columns: readonly string[]): string {
  const changed = table.written.filter((column) => columns.includes(column.name));
  return `UPDATE ${name} SET ${changed.map((column) => `${column.name} = changed.${column.name}`).join(", ")}
    FROM unnest($1::text[], ${arrays(changed, 2)}) AS changed (id, ${changed.map((column) => column.name).join(", ")})
    WHERE ${table.table}.id = changed.id`;
}

/** A change of rows, with its statement for one row in SQLite, and for many in a Postgres schema: arrays of each value, as `byColumn` makes them. */
export interface RowChange {
  readonly table: AnyTable;
  readonly does: "insert" | "upsert" | "delete" | "update";
  /** How many of the first values say which row it is; undefined where the database numbers the rows. */
  readonly key: number | undefined;
  readonly sqlite: string;
  readonly postgres: (named: Naming) => string;
}

/** Inserts a row, `onConflict` aside. */
export function insertion(table: AnyTable, onConflict = ""): RowChange {
  return {
    table,
    does: "insert",
    key: table.serial === undefined ? table.key.length : undefined,
    sqlite: `${insertInto(table)}${onConflict}`,
    postgres: (named) => `${insertRows(table, named(table.table))}${onConflict}`,
  };
}

/** Inserts a row, or changes the one with its key. */
export function upsertion(table: AnyTable): RowChange {
  return {
    table,
    does: "upsert",
    key: table.key.length,
    sqlite: upsertInto(table),
    postgres: (named) => upsertRows(table, named(table.table)),
  };
}

/** Names and types of values that a statement is given, in order. */
type Given = Readonly<Record<string, WrittenColumn["type"]>>;

/** Deletes the rows for which `where` is true, which names values as columns of `given`; left out: those that have all of them. */
export function deletion(table: AnyTable, given: Given, where = equal(table, Object.keys(given))): RowChange {
  const key = Object.keys(given).length;
  return changeOf(
    table,
    "delete",
    given,
    key,
    (name, using, replace) => `DELETE FROM ${name}${using && ` USING ${using}`} WHERE ${replace(where)}`,
  );
}

/** The same for an update. `by`: the values that say which row it is, the first ones. */
export function update(
  table: AnyTable,
  given: Given,
  by: readonly string[],
  set: string,
  and?: string,
): RowChange {
  const where = `${equal(table, by)}${and === undefined ? "" : ` AND ${and}`}`;
  return changeOf(
    table,
    "update",
    given,
    by.length,
    (name, from, replace) =>
      `UPDATE ${name} SET ${replace(set)}${from && ` FROM ${from}`} WHERE ${replace(where)}`,
  );
}

function equal({ table }: AnyTable, columns: readonly string[]): string {
  return columns.map((column) => `${table}.${column} = given.${column}`).join(" AND ");
}

function changeOf(
  table: AnyTable,
  does: RowChange["does"],
  given: Given,
  key: number,
  text: (name: string, from: string, replace: (of: string) => string) => string,
): RowChange {
  const columns = Object.entries(given).map(([name, type]) => ({ name, type }));
  const [only, ...others] = columns;
  const placed = (of: string): string =>
    of.replaceAll(/given\.(\w+)/g, (_, name) => `?${columns.findIndex((each) => each.name === name) + 1}`);
  const one = others.length === 0 && only !== undefined ? only : undefined;
  const asArray = (of: string): string =>
    one === undefined ? of : of.replace(`= given.${one.name}`, `= ANY(${arrays([one])})`);
  const names = columns.map(({ name }) => name).join(", ");
  const from = one === undefined ? `unnest(${arrays(columns)}) AS given (${names})` : "";
  return {
    table,
    does,
    key,
    sqlite: text(table.table, "", placed),
    postgres: (named) => text(named(table.table), from, asArray),
  };
}

/** The columns of rows, for `unnest`. */
export function byColumn<T>(rows: readonly (readonly T[])[]): (readonly (T | null)[])[] {
  return (rows[0] ?? []).map((_, place) => rows.map((row) => row[place] ?? null));
}

/** Collations do not matter here. */
function arrays(columns: readonly Pick<WrittenColumn, "type">[], from = 1): string {
  return columns.map(({ type }, index) => `$${index + from}::${postgresTypes[type]}[]`).join(", ");
}

/** How a store names a table of a schema in statements. */
export type Naming = (table: string) => string;

const sqliteTypes: Readonly<Record<WrittenColumn["type"], string>> = {
  text: "TEXT",
  integer: "INTEGER",
  flag: "INTEGER",
};

const postgresTypes: Readonly<Record<WrittenColumn["type"], string>> = {
  text: "text",
  integer: "bigint",
  flag: "smallint",
};

/** The statements that make these tables and their indexes in a SQLite database. */
export function sqliteTables(tables: readonly AnyTable[]): string {
  return tables
    .map((table) => {
      const isNumbered = table.serial !== undefined;
      const columns = [
        ...(isNumbered ? [`${table.serial} INTEGER PRIMARY KEY AUTOINCREMENT`] : []),
        ...table.written.map((column) => columnText(column, sqliteTypes)),
        ...(isNumbered ? [] : [`PRIMARY KEY (${table.key.join(", ")})`]),
      ];
      const options = isNumbered ? "STRICT" : "STRICT, WITHOUT ROWID";
      const indexes = indexTexts(table, "sqlite", table.table);
      return [`CREATE TABLE ${table.table} (\n  ${columns.join(",\n  ")}\n) ${options};`, ...indexes].join(
        "\n",
      );
    })
    .join("\n\n");
}

/** For a table whose rows change often: it is vacuumed and looked at when a fiftieth has changed, instead of a fifth and a tenth. */
const vacuumOften = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02";

/** The same in a Postgres schema. */
export function postgresTables(tables: readonly AnyTable[], named: Naming): string {
  return tables
    .map((table) => {
      const name = named(table.table);
      // What changes last: of a new version on the same page, only what differs is logged. Numbers before texts, between which each would need padding.
      const written = table.written.toSorted((a, b) => changes(a) - changes(b) || width(a) - width(b));
      const columns = [
        ...(table.serial === undefined ? [] : [`${table.serial} bigint GENERATED ALWAYS AS IDENTITY`]),
        // Compared by their bytes.
        ...written.map((column) => columnText(column, postgresTypes, ' COLLATE "C"')),
        `PRIMARY KEY (${(table.serial === undefined ? table.key : [table.serial]).join(", ")})`,
      ];
      const options =
        table.fillFactor === undefined ? "" : ` WITH (fillfactor = ${table.fillFactor}, ${vacuumOften})`;
      const indexes = indexTexts(table, "postgres", name);
      return [`CREATE TABLE ${name} (\n  ${columns.join(",\n  ")}\n)${options};`, ...indexes].join("\n");
    })
    .join("\n\n");
}

function columnText(
  { name, type, isNullable, names }: WrittenColumn,
  types: Readonly<Record<WrittenColumn["type"], string>>,
  texts = "",
): string {
  return `${name} ${types[type]}${type === "text" ? texts : ""}${isNullable ? "" : " NOT NULL"}${names === undefined ? "" : ` CHECK (${name} IN (${names.map((each) => `'${each}'`).join(", ")}))`}`;
}

function changes({ isWrittenOnce, isChanging }: WrittenColumn): number {
  return isWrittenOnce ? 0 : 1 + Number(isChanging);
}

function width({ type }: WrittenColumn): number {
  return ["integer", "flag", "text"].indexOf(type);
}

function indexTexts({ indexes }: AnyTable, dialect: Dialect, name: string): string[] {
  return Object.entries(indexes).flatMap(([index, { on, where, isUnique }]) => {
    const columns = typeof on === "string" ? on : on[dialect];
    if (columns === undefined) return [];
    const kind = isUnique === true ? "UNIQUE INDEX" : "INDEX";
    const condition = where === undefined ? "" : ` WHERE ${where}`;
    return `CREATE ${kind} ${index} ON ${name} (${columns})${condition};`;
  });
}

/** Of rows [ended_as, count]. */
export function countsIn(rows: readonly Row[]): BulkCounts {
  const by = new Map(rows.map(([endedAs, count]) => [endedAs ?? "open", Number(count)]));
  return { open: by.get("open") ?? 0, done: by.get("done") ?? 0, refused: by.get("refused") ?? 0 };
}

/** Of a row with the columns of an action and then those of a task of its job. */
export function onTaskIn(row: Row): readonly [StoredAction, BulkTask] {
  const action = actionTable.read("", row, inClear);
  return [action, bulkTaskTable.read("", row.slice(actionTable.names.length), inClear)];
}

export function isOld({ createdAt, startedAt, endedAt }: BulkJob, now: number): boolean {
  if (startedAt === null) return createdAt < now - bulkJobsKeptMs.previewed;
  return endedAt !== null && endedAt < now - bulkJobsKeptMs.ended;
}
