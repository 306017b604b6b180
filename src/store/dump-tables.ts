import { damaged, type NumberedLine } from "./dump-file.ts";
import { inClear } from "./row.ts";
import { HoldfastError } from "../task/fault.ts";
import {
  eventTable,
  journalTable as declaredJournal,
  lineTable,
  outcomeTable,
  pieceTable,
  requestTable,
} from "./tables/of-task.ts";
import type { AnyTable, WrittenColumn } from "./tables/table.ts";
import { secretTable as declaredSecret, tables } from "./tables/tables.ts";
import { recordColumns, recordIn, taskTable as declaredTask } from "./tables/task.ts";

/**
 * What a dump has of a store: the declared tables, which all stores have alike.
 * - Texts are as they are stored, so encrypted ones stay encrypted, and a dump needs no keys.
 * - What processes only have while they run is left out: their changes, news and reports, and messages that only they could use.
 */
export interface DumpTable {
  readonly name: string;
  readonly columns: readonly DumpColumn[];
  /** The columns by which rows are dumped, those of one task or all. */
  readonly order: string;
  /** The column that numbers the rows, if it has one. */
  readonly serial: string | undefined;
}

type DumpColumn = Pick<WrittenColumn, "name" | "type" | "isNullable">;

/** The values of a row, by column. */
export type DumpRow = Readonly<Record<string, string | number | null>>;

function dumped(table: AnyTable, order?: string): DumpTable {
  const { serial, written, key } = table;
  const numbers: DumpColumn[] =
    serial === undefined ? [] : [{ name: serial, type: "integer", isNullable: false }];
  return { name: table.table, columns: [...numbers, ...written], order: order ?? key.join(", "), serial };
}

export const taskTable = dumped(declaredTask);
export const journalTable = dumped(declaredJournal, "task_id, place");
export const secretTable = dumped(declaredSecret);

/** What belongs to a task: rows whose `task_id` is its id. */
export const taskParts: readonly DumpTable[] = [
  dumped(requestTable),
  journalTable,
  dumped(outcomeTable),
  dumped(lineTable),
  dumped(pieceTable),
  dumped(eventTable, "task_id, seq"),
];

/** The processes that have, or had, the store open. Each kind of store has more of them for itself. */
const owner: DumpTable = {
  name: "owner",
  columns: [
    ...["id", "host", "since", "handlers"].map((name) => ({
      name,
      type: "text" as const,
      isNullable: false,
    })),
    ...["pid", "retired"].map((name) => ({ name, type: "integer" as const, isNullable: false })),
  ],
  order: "id",
  serial: undefined,
};

const byTask: ReadonlySet<string> = new Set([taskTable, ...taskParts].map(({ name }) => name));

/** All others, which are in each dump as a whole: their rows belong to no task, or are written without a change of one. */
export const wholeTables: readonly DumpTable[] = [
  ...tables
    .filter(({ table }) => !byTask.has(table) && table !== "report")
    .map((table) => (table === declaredSecret ? secretTable : dumped(table))),
  owner,
];

/** Tables of which no row is in a store that nobody used: a process that opens one makes secrets, and is an owner. */
export const contentTables = [taskTable, ...wholeTables].filter(
  (each) => each !== secretTable && each !== owner,
);

export const tablesOfDump: ReadonlyMap<string, DumpTable> = new Map(
  [taskTable, ...taskParts, ...wholeTables].map((each) => [each.name, each]),
);

/** For a SELECT or an INSERT. */
export function columnList({ columns }: DumpTable): string {
  return columns.map(({ name }) => name).join(", ");
}

/** The row of a table from the values of its columns, in their order. */
export function rowOf({ columns }: DumpTable, values: readonly unknown[]): DumpRow {
  const row: Record<string, string | number | null> = {};
  for (const [index, { name }] of columns.entries()) {
    const value = values[index];
    row[name] = typeof value === "bigint" ? Number(value) : (value as string | number | null);
  }
  return row;
}

/**
 * The row that a line has. Throws `store_unusable` unless it has what its table needs, and nothing that would be lost. What an older version
 * did not have is null.
 */
export function rowIn(file: string, table: DumpTable, { number, value }: NumberedLine): DumpRow {
  const row = (value ?? {}) as DumpRow;
  for (const column of table.columns)
    if (!fits(row[column.name] ?? null, column))
      throw damaged(file, number, `it has no valid ${column.name} of ${table.name}`);
  const unknown = Object.keys(row).filter((name) => !table.columns.some((column) => column.name === name));
  if (unknown.length > 0)
    throw new HoldfastError(
      "store_unusable",
      `${file} has ${unknown.join(", ")} of ${table.name} at line ${number}, which this version of Holdfast does not know. Load it with the version that made it, or a later one.`,
    );
  return row;
}

function fits(value: unknown, { type, isNullable }: DumpColumn): boolean {
  if (value === null) return isNullable;
  return type === "text" ? typeof value === "string" : Number.isSafeInteger(value);
}

/** Throws if the row of a task cannot be read. */
export function checkTask(row: DumpRow): void {
  recordIn(
    recordColumns.map((name) => row[name] ?? null),
    inClear,
  );
}
