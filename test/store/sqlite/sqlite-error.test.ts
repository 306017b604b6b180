import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import {
  isBusy,
  isFaultOfOneStatement,
  isKeyTaken,
  isRefusedForGood,
  isUnwritten,
} from "../../../src/store/sqlite/sqlite-error.ts";
import { primaryCode } from "../../../src/store/sqlite/connect.ts";

/** What SQLite throws for a result code. */
function sqliteError(errcode: number): Error {
  return Object.assign(new Error("from SQLite"), { code: "ERR_SQLITE_ERROR", errcode });
}

function thrownBy(sql: string): unknown {
  const db = new DatabaseSync(":memory:");
  try {
    db.exec(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT UNIQUE) STRICT; INSERT INTO t VALUES (1, 'a')",
    );
    db.exec(sql);
  } catch (error) {
    return error;
  } finally {
    db.close();
  }
  throw new Error(`${sql} threw nothing`);
}

test.each([
  ["ERROR", 1],
  ["TOOBIG", 18],
  ["CONSTRAINT", 19],
  ["CONSTRAINT_PRIMARYKEY", 1555],
  ["MISMATCH", 20],
  ["RANGE", 25],
])("%s says something about one statement", (_, errcode) => {
  expect(isFaultOfOneStatement(sqliteError(errcode))).toBe(true);
  // A table that is missing may come back; a value stays what it is.
  expect(isRefusedForGood(sqliteError(errcode))).toBe(errcode !== 1);
});

test.each([
  ["INTERNAL", 2],
  ["PERM", 3],
  ["ABORT", 4],
  ["BUSY", 5],
  ["BUSY_SNAPSHOT", 517],
  ["LOCKED", 6],
  ["NOMEM", 7],
  ["READONLY", 8],
  ["INTERRUPT", 9],
  ["IOERR", 10],
  ["IOERR_FSYNC", 1034],
  ["CORRUPT", 11],
  ["FULL", 13],
  ["CANTOPEN", 14],
  ["PROTOCOL", 15],
  ["SCHEMA", 17],
  ["MISUSE", 21],
  ["AUTH", 23],
  ["NOTADB", 26],
])("%s says something about file, disk or memory: no neighbour is to be trusted", (_, errcode) => {
  expect(isFaultOfOneStatement(sqliteError(errcode))).toBe(false);
  expect(isRefusedForGood(sqliteError(errcode))).toBe(false);
});

test("what SQLite did not throw is the command's own fault", () => {
  expect(isFaultOfOneStatement(new TypeError("cannot be bound"))).toBe(true);
  expect(isFaultOfOneStatement("a text")).toBe(true);
});

test("of Node's own errors, only those about a value are for good", () => {
  const db = new DatabaseSync(":memory:");
  const statement = db.prepare("SELECT ?");
  const thrown = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (error) {
      return error;
    }
  };
  expect(isRefusedForGood(thrown(() => statement.get(Symbol("none") as unknown as string)))).toBe(true);
  expect(isRefusedForGood(thrown(() => statement.get(2n ** 64n)))).toBe(true);
  db.close();
  expect(isRefusedForGood(thrown(() => statement.get("a")))).toBe(false);
  expect(isRefusedForGood(thrown(() => db.prepare("SELECT 1")))).toBe(false);
  expect(isRefusedForGood(new TypeError("Cannot read properties of null"))).toBe(false);
  expect(isRefusedForGood(new RangeError("Array buffer allocation failed"))).toBe(false);
});

test.each([
  ["INSERT INTO t VALUES (1, 'b')", true],
  ["INSERT INTO t VALUES (2, 'a')", true],
  ["INSERT INTO t VALUES (2, 7.5, 1)", false],
  ["SELECT no_such_column FROM t", false],
])("tells from Node's own errors whether a key is taken: %s", (sql, taken) => {
  const error = thrownBy(sql);
  expect(primaryCode(error)).toBe(taken ? 19 : 1);
  expect([isFaultOfOneStatement(error), isKeyTaken(error)]).toEqual([true, taken]);
});

test.each([
  ["database is locked", 5],
  ["out of memory", 7],
  ["attempt to write a readonly database", 8],
  ["disk I/O error", 10],
  ["database disk image is malformed", 11],
  ["database or disk is full", 13],
  ["unable to open database file: /tmp/a.db", 14],
  ["file is not a database", 26],
  ['near "SELEC": syntax error', 1],
])("finds the code that Deno leaves out in SQLite's text: %s", (message, code) => {
  const error = Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR" });
  expect(primaryCode(error)).toBe(code);
  expect(isBusy(error)).toBe(code === 5);
  expect(isUnwritten(error)).toBe(code === 13);
  expect(primaryCode(new Error(message))).toBeUndefined();
});
