import { type Codec, type Row, toStored } from "./row.ts";
import type { Dialect } from "./tables/table.ts";

/**
 * Statements that both kinds of databases run, written once. Their parameters are `$1`, `$2` and so on. A read is a generator: it yields
 * each of its statements, and gets the rows. SQLite runs it at once, and Postgres waits for each answer.
 */

const tables = {
  migration: "migration",
  task: "task",
  request: "request",
  journal: "journal",
  outcome: "outcome",
  child: "child",
  event: "event",
  line: "line",
  piece: "piece",
  owner: "owner",
  committed: "committed",
  usage: "usage",
  secret: "secret",
  session: "session",
  sessionNews: "session_news",
  message: "message",
  action: "action",
  bulkJob: "bulk_job",
  bulkTask: "bulk_task",
  causeMark: "cause_mark",
  pausedTool: "paused_tool",
  delivery: "delivery",
  report: "report",
  limitLine: "limit_line",
  limitPlace: "limit_place",
} as const;

/** How statements name each table. */
export type Tables = Readonly<Record<keyof typeof tables, string>>;

export function tablesNamed(named: (table: string) => string): Tables {
  return Object.fromEntries(Object.entries(tables).map(([key, table]) => [key, named(table)])) as Tables;
}

/** In what statements differ. */
export interface Forms {
  readonly either: (sqlite: string, postgres: string) => string;
  /** Behind a table: the index that SQLite has to use. */
  readonly by: (index: string) => string;
  /** A limit by the parameter of this number. With a plain one, SQLite would prepare the statement again at each bind. */
  readonly atMost: (parameter: number) => string;
  /** Behind a column: whether its value is among those in the parameter of this number, an array of texts. */
  readonly among: (parameter: number) => string;
  /** Leaves out rows that another transaction has locked, and locks the others; SQLite has one writer anyway. */
  readonly locked: string;
  /**
   * All values of a column that an index begins with. Step by step: each step seeks the next one. `first` is of the first alone: of two lower
   * bounds, SQLite would seek by one and go through all up to the other.
   */
  readonly each: (column: string, from: string, where?: string, first?: string) => string;
}

export function formsOf(dialect: Dialect): Forms {
  const either = (sqlite: string, postgres: string): string => (dialect === "sqlite" ? sqlite : postgres);
  return {
    either,
    by: (index) => either(` INDEXED BY ${index}`, ""),
    atMost: (parameter) => `LIMIT $${parameter}${either(" + 0", "")}`,
    among: (parameter) =>
      either(`IN (SELECT value FROM json_each($${parameter}))`, `= ANY($${parameter}::text[])`),
    locked: either("", " FOR UPDATE SKIP LOCKED"),
    each: (column, from, where = "true", first = where) => `WITH RECURSIVE named (${column}) AS (
        SELECT (SELECT ${column} FROM ${from} WHERE ${first} ORDER BY ${column} LIMIT 1)
        UNION ALL
        SELECT (SELECT next.${column} FROM ${from.replace(/^\S+/, "$& AS next")}
            WHERE ${where} AND next.${column} > named.${column} ORDER BY next.${column} LIMIT 1)
          FROM named WHERE named.${column} IS NOT NULL
      ) SELECT ${column} FROM named WHERE ${column} IS NOT NULL`,
  };
}

/** Arrays, for `among`, become JSON in SQLite. */
export type Value = Row[number] | readonly string[];

/** A statement to run; its rows come back. */
export interface Query {
  readonly sql: string;
  readonly values: readonly Value[];
}

export type Reading<T> = Generator<Query, T, readonly Row[]>;

/** Runs a read of an open store; of one task, if it is named: damage concerns only that one. */
export type Read = <T>(reading: (codec: Codec) => Reading<T>, task?: string) => Promise<T>;

/** The rows of one statement. */
export function* rowsOf<T>(
  sql: string,
  values: readonly Value[],
  read: (row: Row) => T,
): Generator<Query, T[], readonly Row[]> {
  return (yield { sql, values }).map(read);
}

/** The same of a statement that selects one row, or none. */
export function* rowOf<T>(
  sql: string,
  values: readonly Value[],
  read: (row: Row) => T,
): Generator<Query, T | undefined, readonly Row[]> {
  const [row] = yield { sql, values };
  return row === undefined ? undefined : read(row);
}

/** Runs a read where each statement has to be waited for. */
export async function readInTurn<T>(
  query: (sql: string, values: readonly Value[]) => Promise<readonly Row[]>,
  reading: Reading<T>,
): Promise<T> {
  for (let step = reading.next(); ;) {
    if (step.done === true) return step.value;
    const { sql, values } = step.value;
    step = reading.next(await query(sql, values));
  }
}

/** Sorts after every id. */
export const behindAllTexts = "\u{10ffff}";

/** Where a page begins: below an id, or with the newest. */
export function endOf(before: string | null): string {
  return before === null ? behindAllTexts : toStored(before);
}

/**
 * Up to `limit` of what a statement selects, whose rows begin with an id. `values` has its parameters behind `from`, the id where it begins.
 * Rows that cannot be read do not make a page shorter.
 */
export function* pageOf<T>(
  limit: number,
  from: string,
  query: (from: Value, limit: number) => Query,
  read: (row: Row) => T,
): Reading<T[]> {
  const found: T[] = [];
  for (let next: Value = from; found.length < limit;) {
    const wanted = limit - found.length;
    const rows: readonly Row[] = yield query(next, wanted);
    for (const row of rows) {
      try {
        found.push(read(row));
      } catch {
        // A claim, a wake or a reclaim reports it.
      }
    }
    if (rows.length < wanted) break;
    next = rows.at(-1)?.[0] ?? null;
  }
  return found;
}
