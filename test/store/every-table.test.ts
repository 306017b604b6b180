import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { dumpStore, loadStore } from "../../src/store/data-care.ts";
import { taskParts, tablesOfDump, taskTable, wholeTables } from "../../src/store/dump-tables.ts";
import { postgresStore } from "../../src/store/postgres/postgres-store.ts";
import type { StorePlace } from "../../src/store/from-url.ts";
import { tables } from "../../src/store/tables/tables.ts";
import { createQueued } from "../../src/testing/sample-task.ts";
import { FreshSchema } from "../postgres/test-database.ts";
import { withClient } from "../postgres/with-client.ts";
import { someOwner } from "./sqlite/some-owner.ts";
import { useTempDirectory } from "./sqlite/temp-directory.ts";

const temp = useTempDirectory();
const { signal } = new AbortController();

/** What a dump leaves out, and why nothing is lost with it. */
const leftOut: Readonly<Record<string, string>> = {
  report: "what a process reported of its minutes",
  change: "what processes have not read yet of each other's changes",
  session_news: "the same for sessions",
  committed: "the last transactions of processes that have ended",
  usage: "counted again while the tasks are loaded",
  limit_line: "who waits asks again, and permits end with their processes",
  limit_place: "the same",
  migration: "the version of the tables, which each database has for itself",
  load: "how far a load has come",
  sqlite_sequence: "SQLite's own",
  "owner.drain_until": "until when a process that has ended was to end",
  "owner.lease_until": "until when it was known to live",
  "owner.steady_since": "the same",
};

/** A database as SQL sees it, in the words that both kinds know. */
interface Raw {
  readonly place: StorePlace;
  readonly query: (sql: string) => Promise<readonly (readonly unknown[])[]>;
  /** In one transaction. */
  readonly run: (statements: readonly string[]) => Promise<void>;
  /** Each table with its columns. */
  readonly columns: () => Promise<ReadonlyMap<string, readonly string[]>>;
}

function sqliteAt(name: string): Raw {
  const path = temp.path(name);
  const query: Raw["query"] = async (sql) => {
    using db = new DatabaseSync(path);
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    return statement.all() as unknown as unknown[][];
  };
  return {
    place: { kind: "sqlite", path },
    query,
    run: async (statements) => {
      using db = new DatabaseSync(path);
      db.exec(`BEGIN; ${statements.join(";")}; COMMIT`);
    },
    columns: async () =>
      grouped(
        await query(`SELECT schema.name, info.name FROM sqlite_schema AS schema, pragma_table_info(schema.name) AS info
          WHERE schema.type = 'table'`),
      ),
  };
}

async function freshPostgres() {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const { url, schema } = fresh;
  const query: Raw["query"] = (sql) =>
    withClient(url, async (client) => {
      await client.query(`SET search_path = ${schema}`);
      return (await client.query<unknown[]>({ text: sql, rowMode: "array" })).rows;
    });
  return {
    place: { kind: "postgres", url, options: { schema } } as const,
    query,
    run: (statements) =>
      withClient(url, async (client) => {
        await client.query(`SET search_path = ${schema}; ${statements.join(";")}`);
      }),
    columns: async () =>
      grouped(
        await query(
          `SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = '${schema}'`,
        ),
      ),
  } satisfies Raw;
}

function grouped(rows: readonly (readonly unknown[])[]): ReadonlyMap<string, readonly string[]> {
  const groups = Map.groupBy(rows, ([table]) => String(table));
  return new Map([...groups].map(([table, each]) => [table, each.map(([, column]) => String(column))]));
}

const every = [taskTable, ...taskParts, ...wholeTables];
const parts = new Set(taskParts);

const literal = (value: string | number | null): string =>
  typeof value === "string" && !/^\d+$/.test(value) ? `'${value}'` : String(value);

/** The values that the column of a table may have; undefined: any of its type. */
function wordsOf(table: string, column: string): readonly string[] | undefined {
  return tables.find((each) => each.table === table)?.written.find(({ name }) => name === column)?.names;
}

function valueIn(table: string, { name, type, isNullable }: Column, row: number): string | number | null {
  if (isNullable && (row === 3 || (table === "message" && name === "owner"))) return null;
  if (name === "task_id") return `task-${"abc"[row - 1]}`;
  if (name === "since" && type === "text") return `2026-11-0${row}T12:00:00Z`;
  return (
    wordsOf(table, name)?.[0] ??
    (type === "text"
      ? `${name} "${row}" \u00e9`
      : type === "integer"
        ? table === "owner"
          ? row
          : row * 2 ** 40
        : 1)
  );
}

type Column = (typeof taskTable.columns)[number];

/** Three rows in each table beside the one of tasks. */
async function fill(to: Raw): Promise<void> {
  const statements = ["DELETE FROM request"];
  for (const { name: table, columns } of every.slice(1))
    for (const row of [1, 2, 3]) {
      const values = columns.map((column) => literal(valueIn(table, column, row)));
      statements.push(
        `INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")}) VALUES (${values.join(", ")})`,
      );
    }
  await to.run(statements);
}

/** Changes a row of each table, and deletes one. */
async function change(at: Raw, word: string, task: string): Promise<void> {
  const statements = [
    `UPDATE task SET version = version + 1, status_message = '${word}' WHERE id = 'task-a'`,
  ];
  for (const table of every) {
    const { name, columns, order } = table;
    const column = columns.find((each) => isFree(table, each));
    const where = parts.has(table) ? "task_id = 'task-a'" : "true";
    if (column !== undefined && table !== taskTable) {
      const value = column.type === "text" ? `'${word}'` : word.length;
      statements.push(`UPDATE ${name} SET ${column.name} = ${value} WHERE ${where}`);
    }
    const [key = ""] = order.split(", ");
    const first = `SELECT min(${key}) FROM ${name}`;
    const gone =
      table === taskTable
        ? `id = '${task}'`
        : parts.has(table)
          ? `task_id = '${task}'`
          : `${key} = (${first})`;
    statements.push(`DELETE FROM ${name} WHERE ${gone}`);
  }
  await at.run(statements);
}

/** Whether it has any value, and rows are not found by it. */
function isFree({ name: table, order, serial }: (typeof every)[number], { name, type }: Column): boolean {
  const keys = tables.find((each) => each.table === table)?.key ?? [];
  const taken = [...keys, ...order.split(", "), serial, "task_id", "since"];
  return (
    type !== "flag" &&
    !taken.includes(name) &&
    wordsOf(table, name) === undefined &&
    !(table === "message" && name === "owner")
  );
}

/** What is dumped of a store, by table. */
async function contentOf({ query }: Raw): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const { name, columns, order } of every) {
    const rows = await query(
      `SELECT ${columns.map((column) => column.name).join(", ")} FROM ${name} ORDER BY ${order}`,
    );
    found[name] = rows.map((row) =>
      row.map((value) =>
        literal(
          value instanceof Date ? value.toISOString().replace(".000", "") : (value as string | number | null),
        ),
      ),
    );
  }
  return found;
}

async function move(
  from: Raw,
  to: Raw,
  file: string,
  since: string | undefined,
  partial: boolean,
): Promise<void> {
  await dumpStore(from.place, temp.path(file), { now: 0, since: since && temp.path(since), signal });
  await loadStore(to.place, temp.path(file), { beside: true, partial, signal });
}

test("every column of every table is in a dump, or known to be left out", async () => {
  const store = await temp.open("a.db");
  await store.close();
  const [sqlite, postgres] = [sqliteAt("a.db"), await freshPostgres()];
  const there = postgresStore(postgres.place.url, postgres.place.options);
  await there.open(someOwner());
  await there.close();
  for (const { columns } of [sqlite, postgres])
    for (const [table, names] of await columns()) {
      if (table in leftOut) continue;
      const dumped = tablesOfDump.get(table)?.columns.map(({ name }) => name) ?? [];
      for (const name of names)
        if (!(`${table}.${name}` in leftOut))
          expect([table, dumped]).toEqual([table, expect.arrayContaining([name])]);
    }
});

test("rows of every table move from SQLite to Postgres and back, and so does what changed since", async () => {
  const store = await temp.open("a.db");
  for (const name of ["a", "b", "c"]) await store.write(createQueued(name));
  await store.close();
  const [a, b, c] = [sqliteAt("a.db"), await freshPostgres(), sqliteAt("c.db")];
  await fill(a);
  const before = await contentOf(a);
  await move(a, b, "first", undefined, true);
  expect(await contentOf(b)).toEqual(before);
  await change(a, "changed", "task-b");
  await move(a, b, "second", "first", false);
  const changed = await contentOf(a);
  for (const [table, rows] of Object.entries(changed))
    expect([table, rows]).not.toEqual([table, before[table]]);
  expect(await contentOf(b)).toEqual(changed);

  await move(b, c, "third", undefined, true);
  expect(await contentOf(c)).toEqual(changed);
  await change(b, "once more", "task-c");
  await move(b, c, "fourth", "third", false);
  expect(await contentOf(c)).toEqual(await contentOf(b));
});

test("a store with a row in any of the tables that operators write is not empty", async () => {
  const store = await temp.open("a.db");
  await store.write(createQueued("a"));
  const [a, b] = [sqliteAt("a.db"), await freshPostgres()];
  await dumpStore(a.place, temp.path("dump"), { now: 0, since: undefined, signal });
  const [other, there] = [await temp.open("b.db"), postgresStore(b.place.url, b.place.options)];
  await there.open(someOwner());
  for (const to of [other, there]) {
    const mark = { cause: "c", muted: true, note: "known", actor: "ann", at: 1 } as const;
    await to.write({ type: "mark_cause", now: 1, mark });
    await to.close();
  }
  for (const { place } of [sqliteAt("b.db"), b])
    await expect(
      loadStore(place, temp.path("dump"), { beside: true, partial: false, signal }),
    ).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining("already has"),
    });
});
