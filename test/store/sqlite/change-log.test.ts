import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ChangeLog, ChangeLogReader } from "../../../src/store/sqlite/change-log.ts";
import { OwnerWrites } from "../../../src/store/sqlite/sqlite-owners.ts";
import { migrate, number } from "../../../src/store/sqlite/schema.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import type { TaskChange } from "../../../src/store/store.ts";

const kept = 10_000;
const none = { tasks: [], sessions: [] };
const gap = { tasks: "gap", sessions: "gap" };

let db: DatabaseSync;
let statements: Statements;
let log: ChangeLog;
let reader: ChangeLogReader;
beforeEach(() => {
  db = new DatabaseSync(":memory:");
  migrate(db);
  statements = new Statements(db);
  log = new ChangeLog(statements, "a");
  reader = new ChangeLogReader(statements, "b");
});
afterEach(() => db.close());

const changes = (count: number, from = 0): TaskChange[] =>
  Array.from({ length: count }, (_, index) => ({ id: `task-${from + index}`, version: index }));
const rows = () => number(db, "SELECT count(*) FROM change");

test("what one owner appends another one reads once, in order, with whatever texts", () => {
  const odd = "\ud800\u0000é";
  const first = [
    { id: odd, version: 3 },
    { id: "b", version: null },
  ];
  const news = [
    { id: odd, message: odd },
    { id: "s", message: null },
  ];
  log.append(first, news);
  log.append([{ id: "c", version: 1 }], []);
  expect(reader.read()).toEqual({ tasks: [...first, { id: "c", version: 1 }], sessions: news });
  expect(reader.read()).toEqual(none);
});

test("an owner does not read what it appended itself", () => {
  new ChangeLog(statements, "b").append(changes(1), []);
  expect(reader.read()).toEqual(none);
});

test("a reader begins with what is appended after it was made", () => {
  log.append(changes(3), []);
  const late = new ChangeLogReader(statements, "c");
  expect(late.read()).toEqual(none);
  log.append(changes(1), []);
  expect(late.read()).toMatchObject({ tasks: changes(1) });
});

test("the log keeps its newest entries, and nothing is written where nothing has changed", () => {
  for (let group = 0; group < 15; group++) log.append(changes(1_000), []);
  expect(rows()).toBe(kept);
  log.append([], []);
  log.append(changes(kept + 1), []);
  expect(rows()).toBe(kept);
});

test("messages of sessions take no more than their share of the disk", () => {
  const news = [{ id: "s", message: "x".repeat(16 * 1024 * 1024) }];
  for (let told = 0; told < 4; told++) log.append([], news);
  expect(rows()).toBe(4);
  log.append([], news);
  expect(rows()).toBe(1);
  expect(reader.read()).toEqual(gap);
});

test("nothing of it stays for an owner that is alone, but the number of the newest", () => {
  const owners = new OwnerWrites(statements);
  for (const id of ["a", "b", "c"]) owners.add({ id, handlers: [] });
  log.append(changes(5), []);
  owners.retire("b", 0);
  expect(rows()).toBe(5);
  owners.retire("c", 0);
  expect(rows()).toBe(1);
  log.append(changes(1), []);
  expect(number(db, "SELECT max(seq) FROM change")).toBe(6);
});

test("who has read all but what is kept misses nothing, and who has missed one is told of a gap", () => {
  log.append(changes(kept), []);
  expect(reader.read().tasks).toHaveLength(kept);
  for (let group = 0; group < 11; group++) log.append(changes(1_000), []);
  expect(reader.read()).toEqual(gap);
  log.append(changes(1, 7), []);
  expect(reader.read()).toEqual({ tasks: changes(1, 7), sessions: [] });
});

test("a log of which nothing is left is a gap as soon as there is something again", () => {
  log.append(changes(5), []);
  db.exec("DELETE FROM change WHERE seq < 5");
  expect(reader.read()).toEqual(gap);
});

test("an entry that cannot be read is a gap, and those after it are read", () => {
  log.append(changes(1), []);
  db.exec("UPDATE change SET task_id = char(0xfffe) || 'cut'");
  expect(reader.read()).toEqual(gap);
  log.append(changes(1), []);
  expect(reader.read()).toEqual({ tasks: changes(1), sessions: [] });
});
