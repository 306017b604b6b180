import { constants, DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GroupWriter } from "../../../src/store/sqlite/group-writer.ts";
import { migrate, number } from "../../../src/store/sqlite/schema.ts";
import { OwnerWrites } from "../../../src/store/sqlite/sqlite-owners.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import { createQueued, createRunning, owner } from "../../contract/sample-task.ts";
import { runChild } from "./child.ts";

let db: DatabaseSync;
let writer: GroupWriter;
beforeEach(() => {
  db = new DatabaseSync(":memory:");
  migrate(db);
  const statements = new Statements(db);
  writer = new GroupWriter(statements, ":memory:", owner, () => false);
  new OwnerWrites(statements).add({ id: owner, handlers: [] });
});
afterEach(() => db.close());

const rows = () => number(db, "SELECT count(*) FROM task") + number(db, "SELECT count(*) FROM request");

test("a fault of the connection rejects the group, though SQLite would go on with it", () => {
  // Takes effect in the middle of the group: reading is allowed, writing is not.
  db.setAuthorizer((action) =>
    action === constants.SQLITE_INSERT ? constants.SQLITE_DENY : constants.SQLITE_OK,
  );
  expect(() => writer.commit([{ type: "delete_expired", now: 1, limit: 9 }, createQueued("a")])).toThrow(
    "not authorized",
  );
  expect(db.isTransaction).toBe(false);
  db.setAuthorizer(null);
  expect(writer.commit([createQueued("a")]).answers).toMatchObject([{ result: { ok: true } }]);
});

test("a statement that ends the transaction takes its neighbours with it", () => {
  db.exec(
    "CREATE TRIGGER gone BEFORE INSERT ON task WHEN NEW.tool = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'rolled back'); END",
  );
  const group = [createQueued("a"), createQueued("b", { tool: "bad" }), createQueued("c")];
  expect(() => writer.commit(group)).toThrow("rolled back");
  expect(rows()).toBe(0);
  expect(writer.commit([createQueued("a")]).answers).toMatchObject([{ result: { ok: true } }]);
  expect(rows()).toBe(2);
});

test("a statement that fails takes with it what its command had written, and nothing else", () => {
  // The task is written by then, its request is not.
  db.exec(
    "CREATE TRIGGER late BEFORE INSERT ON request WHEN NEW.arguments = 'bad' BEGIN SELECT RAISE(FAIL, 'no'); END",
  );
  const bad = createRunning("b");
  const group = [
    createQueued("a"),
    { ...bad, request: { ...bad.request, arguments: "bad" } },
    createQueued("c"),
  ];
  const { answers, changes } = writer.commit(group);
  expect(answers).toMatchObject([{ result: { ok: true } }, { problem: "no" }, { result: { ok: true } }]);
  expect(changes.map(({ id }) => id)).toEqual(["task-a", "task-c"]);
  expect(rows()).toBe(4);
});

test("a commit that fails leaves nothing and no open transaction", () => {
  // A constraint that is checked only when the transaction ends.
  db.exec("PRAGMA foreign_keys = ON");
  db.exec(
    "CREATE TABLE strict_request (task_id TEXT REFERENCES outcome (task_id) DEFERRABLE INITIALLY DEFERRED)",
  );
  db.exec("CREATE TRIGGER owe AFTER INSERT ON task BEGIN INSERT INTO strict_request VALUES (NEW.id); END");
  expect(() => writer.commit([createQueued("a")])).toThrow("FOREIGN KEY");
  expect(db.isTransaction).toBe(false);
  expect(rows()).toBe(0);
});

test("a command that changes more tasks than a call takes arguments keeps its own answer, and so does the next one", async () => {
  // A small stack has room for few arguments.
  const smallStack = ([node = "", ...rest]: readonly string[]) => [node, "--stack-size=120", ...rest];
  const child = runChild(new URL("./reclaim-many.ts", import.meta.url), ["16000"], smallStack);
  const { results, changes } = JSON.parse(await child.line()) as { results: unknown; changes: number };
  expect(results).toEqual([
    ["ok", "reclaimed", "unreadable", "next"],
    ["ok", "created", "task"],
  ]);
  expect(changes).toBe(16_001);
  await child.end();
});
