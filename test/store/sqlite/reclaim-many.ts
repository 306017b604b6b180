// Gives back many tasks and makes another one in the same group, then prints how both went: node reclaim-many.ts COUNT
import { DatabaseSync } from "node:sqlite";
import { GroupWriter } from "../../../src/store/sqlite/group-writer.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { recordColumns } from "../../../src/store/tables/task.ts";
import { OwnerWrites } from "../../../src/store/sqlite/sqlite-owners.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import { createQueued, createRunning, noon, owner } from "../../../src/testing/sample-task.ts";

const db = new DatabaseSync(":memory:");
migrate(db);
const statements = new Statements(db);
const owners = new OwnerWrites(statements);
const gone = "gone";
for (const id of [owner, gone]) owners.add({ id, handlers: [] });
new GroupWriter(statements, ":memory:", gone, () => false).commit([createRunning("a")]);
const copied = recordColumns.map((name) => (name === "id" || name === "wire_id" ? `${name} || n` : name));
db.prepare(
  `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
  INSERT INTO task (${recordColumns.join(", ")}) SELECT ${copied.join(", ")} FROM task, number`,
).run(Number(process.argv[2]) - 1);

const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };
const reclaim = { type: "reclaim", now: noon, owner: gone, after: "", limit: 1e9, backoff } as const;
const writer = new GroupWriter(statements, ":memory:", owner, () => false);
const { answers, changes } = writer.commit([reclaim, createQueued("b")]);
const results = answers.map((answer) => ("result" in answer ? Object.keys(answer.result) : answer.problem));
console.log(JSON.stringify({ results, changes: changes.length }));
