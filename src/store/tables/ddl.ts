import type { AnyTable, Dialect, WrittenColumn } from "./table.ts";

/** How a store names a table of a schema in statements. */
type Naming = (table: string) => string;

const sqliteTypes: Readonly<Record<WrittenColumn["type"], string>> = {
  text: "TEXT",
  integer: "INTEGER",
  flag: "INTEGER",
};

export const postgresTypes: Readonly<Record<WrittenColumn["type"], string>> = {
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
      // What never changes first: of a new version on the same page, only what differs is logged. Then numbers: between texts, each would need padding.
      const written = table.written.toSorted(
        (a, b) => Number(b.isWrittenOnce) - Number(a.isWrittenOnce) || width(a) - width(b),
      );
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
