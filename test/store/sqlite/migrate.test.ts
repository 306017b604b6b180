import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applicationId, migrate, migrations, number } from "../../../src/store/sqlite/schema.ts";
import { tables } from "../../../src/store/tables/tables.ts";

let db: DatabaseSync;
beforeEach(() => {
  db = new DatabaseSync(":memory:");
});
afterEach(() => db.close());

const columnsOf = (table: string) =>
  db
    .prepare("SELECT name FROM pragma_table_info(?)")
    .all(table)
    .map((row) => row["name"]);

describe("migrate", () => {
  test("from nothing to the newest schema, marked as ours", () => {
    migrate(db);
    expect(number(db, "PRAGMA user_version")).toBe(migrations.length);
    expect(number(db, "PRAGMA application_id")).toBe(applicationId);
  });

  test("runs only what is missing, in order", () => {
    const log = "INSERT INTO log VALUES";
    migrate(db, ["CREATE TABLE log (n)", `${log} (2)`]);
    migrate(db, ["CREATE TABLE log (n)", `${log} (2)`, `${log} (3)`, `${log} (4)`]);
    expect(
      db
        .prepare("SELECT n FROM log")
        .all()
        .map((row) => row["n"]),
    ).toEqual([2, 3, 4]);
    expect(number(db, "PRAGMA user_version")).toBe(4);
  });

  test("one that fails leaves the database as it was, without those before it", () => {
    const broken = "CREATE TABLE half (a); INSERT INTO missing VALUES (1)";
    migrate(db, ["CREATE TABLE old (a)"]);
    expect(() => migrate(db, ["CREATE TABLE old (a)", "CREATE TABLE whole (a)", broken])).toThrow("missing");
    expect(["old", "whole", "half"].map(columnsOf)).toEqual([["a"], [], []]);
    expect(number(db, "PRAGMA user_version")).toBe(1);
    expect(db.isTransaction).toBe(false);
  });
});

describe("schema", () => {
  beforeEach(() => migrate(db));

  test("has the columns that the rows are written with, and no others", () => {
    for (const { table, serial, written } of tables) {
      const numbered = serial === undefined ? [] : [serial];
      expect(columnsOf(table)).toEqual([...numbered, ...written.map(({ name }) => name)]);
    }
  });

  test("every table is strict", () => {
    const found = db.prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'").all();
    const ours = found.filter((row) => !String(row["name"]).startsWith("sqlite_"));
    expect(ours).toHaveLength(23);
    expect(ours.filter((row) => row["strict"] !== 1)).toEqual([]);
  });
});
