import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../src/store/sqlite/connect.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import { GroupWriter } from "../../../src/store/sqlite/group-writer.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { OwnerWrites } from "../../../src/store/sqlite/sqlite-owners.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import type { Quota } from "../../../src/task/queue.ts";
import { callTool, createQueued, createRunning, settleAs } from "../../../src/testing/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

const quota: Quota = {
  perPrincipal: { unfinished: 5, retained: 8 },
  total: { unfinished: 50, retained: 80 },
};

/** Ann has a task that works, one below it that counts for nobody, and one that ended; Bob has one. */
const before: readonly TaskCommand[] = [
  createRunning("a"),
  callTool("a", "child"),
  createRunning("b"),
  settleAs("b"),
  createQueued("c", { principal: "bob" }),
];

const next = { ...createQueued("d"), quota };

const right = [
  { owner: "pann", unfinished: 2, retained: 3 },
  { owner: "t", unfinished: 3, retained: 4 },
];

function inMemory() {
  const db = connect(":memory:", {});
  onTestFinished(() => db.close());
  migrate(db);
  const statements = new Statements(db);
  new OwnerWrites(statements).add({ id: "owner", handlers: [] });
  const writer = new GroupWriter(statements, "tasks.db", "owner", () => false);
  writer.commit(before);
  return { db, writer };
}

/** The counters of Ann and of all, as they are now. */
function countersIn(db: DatabaseSync): unknown {
  const select = db.prepare(
    "SELECT owner, unfinished, retained FROM usage WHERE owner <> 'pbob' ORDER BY owner",
  );
  select.setReadBigInts(false);
  return select.all();
}

/** The warnings of counters until the test ends. */
function warnings(): string[] {
  const heard: string[] = [];
  const hear = ({ message }: Error): void => void (message.includes("counter") && heard.push(message));
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  return heard;
}

const damages = [
  "UPDATE usage SET retained = 9007199254740993",
  "UPDATE usage SET unfinished = -1",
  "UPDATE usage SET unfinished = 70, retained = 7",
  "UPDATE usage SET unfinished = 1000000, retained = 1000000",
  "UPDATE usage SET retained = 500 WHERE owner = 't'",
  "UPDATE usage SET unfinished = 6 , retained = 7 WHERE owner = 'pann'",
  "UPDATE usage SET unfinished = 9223372036854775807, retained = 9223372036854775807",
  "UPDATE usage SET unfinished = -9223372036854775808, retained = -9223372036854775808 WHERE owner = 'pann'",
  "DELETE FROM usage",
];

test.each(damages)("a counter is counted again after %s, and refuses no create", (damage) => {
  const { db, writer } = inMemory();
  db.exec(damage);
  const { answers } = writer.commit([next]);
  expect(answers).toMatchObject([{ result: { ok: true, created: true } }]);
  expect(countersIn(db)).toEqual(right);
});

test.each([
  "UPDATE usage SET unfinished = 9223372036854775807",
  "UPDATE usage SET retained = 9223372036854775807",
])("a create without a quota is not refused either after %s", (damage) => {
  const { db, writer } = inMemory();
  db.exec(damage);
  const { answers } = writer.commit([createQueued("d")]);
  expect(answers).toMatchObject([{ result: { ok: true, created: true } }]);
  expect(countersIn(db)).toEqual(right);
});

test("a correction is told once, and undone with a group that fails", async () => {
  const heard = warnings();
  const { db, writer } = inMemory();
  db.exec("UPDATE usage SET retained = 500 WHERE owner = 'pann'");
  db.exec("CREATE TRIGGER fails BEFORE INSERT ON delivery BEGIN SELECT raise(ROLLBACK, 'boom'); END");
  const failing = { ...createQueued("e", { notifies: ["hook"] }), quota };
  expect(() => writer.commit([next, failing])).toThrow("boom");
  expect(writer.commit([next]).answers).toMatchObject([{ result: { ok: true } }]);
  expect(writer.commit([{ ...createQueued("f"), quota }]).answers).toMatchObject([{ result: { ok: true } }]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(new Set(heard)).toEqual(
    new Set(["A counter of tasks in tasks.db was damaged. The tasks were counted again."]),
  );
});

test("a full quota refuses as before, and is counted only once", async () => {
  const heard = warnings();
  const { db, writer } = inMemory();
  const full = { ...next, quota: { ...quota, perPrincipal: { unfinished: 1, retained: 2 } } };
  expect(writer.commit([full]).answers).toEqual([{ result: { ok: false, reason: "quota" } }]);
  // What another program does to a counter that was checked is not looked for again.
  db.exec("UPDATE usage SET retained = 3 WHERE owner = 'pann'");
  expect(writer.commit([full]).answers).toEqual([{ result: { ok: false, reason: "quota" } }]);
  expect(countersIn(db)).toMatchObject([{ retained: 3 }, {}]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toEqual([]);
});

test("a store whose counters are damaged while it is open goes on", async () => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  using db = new DatabaseSync(temp.path());
  db.exec("UPDATE usage SET unfinished = 1000000, retained = 9007199254740993");
  expect(await store.write(next)).toMatchObject({ ok: true, created: true });
  expect(countersIn(db)).toEqual([
    { owner: "pann", unfinished: 2, retained: 2 },
    { owner: "t", unfinished: 2, retained: 2 },
  ]);
});
