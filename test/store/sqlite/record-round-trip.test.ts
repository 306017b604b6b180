import { inClear, toStored } from "../../../src/store/row.ts";
import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { recordOf, Statements } from "../../../src/store/sqlite/statements.ts";
import { rowOf, taskTable } from "../../../src/store/tables/task.ts";
import { insertTask, rows, taskStatements, updateTask } from "../../../src/store/sqlite/sql.ts";
import type { TaskAttempt } from "../../../src/task/attempts.ts";
import type { Progress, TaskRecord } from "../../../src/task/record.ts";
import { taskStates } from "../../../src/task/outcome.ts";
import { storable } from "../../../src/task/time.ts";

// Halves of surrogate pairs, U+0000 and whatever else a JavaScript string can hold.
const anyText = fc.array(fc.nat({ max: 0xffff })).map((units) => String.fromCharCode(...units));
const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), anyText);
const time = fc.maxSafeInteger().map(storable);
const count = fc.maxSafeNat();
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0));
const progress: fc.Arbitrary<Progress> = fc.record(
  { progress: finite, total: finite, message: text },
  { requiredKeys: ["progress"], noNullPrototype: true },
);

const attempt: fc.Arbitrary<TaskAttempt> = fc.record(
  {
    number: count,
    owner: text,
    startedAt: time,
    endedAt: fc.option(time),
    end: fc.constantFrom(
      "settled",
      "failed",
      "cancelled",
      "expired",
      "parked",
      "released",
      "retried",
      "lost",
      null,
    ),
    error: text,
    stack: text,
  },
  { requiredKeys: ["number", "owner", "startedAt", "endedAt", "end"], noNullPrototype: true },
);

/** A member that is new to the record has to be added here, or this does not compile. */
const members: {
  readonly [K in keyof TaskRecord]-?: fc.Arbitrary<NonNullable<TaskRecord[K]> | TaskRecord[K]>;
} = {
  id: text,
  wireId: text,
  generation: fc.constantFrom("sep-1686", "2025-11-25", "2026-07-28", "plain", "child"),
  scope: text,
  principal: fc.option(text),
  method: fc.constant("tools/call"),
  tool: text,
  parent: fc.option(
    fc.record({ id: text, key: text, root: text, cancelGraceMs: count }, { noNullPrototype: true }),
  ),
  idempotencyKey: fc.option(text),
  requestHash: text,
  // What no scope is made of is refused where scopes are configured.
  requiredScopes: fc.array(fc.stringMatching(/^[!#-[\]-~]+$/)),
  state: fc.constantFrom(...taskStates),
  version: count,
  createdAt: time,
  updatedAt: time,
  finishedAt: fc.option(time),
  expiry: fc.record(
    { from: fc.constantFrom("created", "terminal"), ms: fc.option(count) },
    { noNullPrototype: true },
  ),
  runUntil: fc.option(time),
  sweepAt: fc.option(time),
  pollIntervalMs: count,
  statusMessage: fc.option(text),
  progress: fc.option(progress),
  logged: count,
  outputs: count,
  openInputs: count,
  childInputs: count,
  openWaits: count,
  cancelRequestedAt: fc.option(time),
  cancelBy: fc.option(time),
  // None is stored as an empty one.
  owner: fc.option(text.filter((id) => id !== "")),
  lane: fc.constantFrom("new", "woken", "recovered", null),
  runAfter: fc.option(time),
  awaitedBy: fc.array(fc.uuid()),
  promised: fc.boolean(),
  attempt: count,
  attempts: fc.array(attempt, { maxLength: 10 }),
  toolVersion: fc.option(count),
  failures: count,
  limited: fc.boolean(),
  token: fc.option(text),
  startedAt: fc.option(time),
  journalled: fc.boolean(),
  waiting: fc.boolean(),
  openArtifacts: count,
  waitsFor: fc.constantFrom(null, "question", "event", "call", "sleep", "retry"),
  crashes: count,
  suspicion: fc.record(
    { shared: count, since: fc.option(time), clearedAt: fc.option(time) },
    { noNullPrototype: true },
  ),
  outcomeKind: fc.constantFrom("result", "error_result", "error", null),
  notifies: fc.array(fc.stringMatching(/^[a-z]+$/), { minLength: 1 }),
  retrieved: fc.record({ at: time, via: text }, { noNullPrototype: true }),
  cause: text,
  retriedAs: text,
  blocked: fc.record(
    {
      reason: fc.constantFrom("replay", "arguments", "version", "tool"),
      problem: text,
      key: fc.option(text),
      was: fc.option(text),
      is: fc.option(text),
      version: fc.option(count),
      deploy: fc.option(text),
      since: time,
      tries: count,
    },
    { noNullPrototype: true },
  ),
};
const {
  notifies: _,
  retrieved: __,
  retriedAs: ___,
  openArtifacts: ____,
  blocked: _____,
  suspicion: ______,
  cause: _______,
  ...required
} = members;
const record: fc.Arbitrary<TaskRecord> = fc.record(members, {
  requiredKeys: Object.keys(required) as (keyof typeof required)[],
  noNullPrototype: true,
});

let db: DatabaseSync;
beforeEach(() => {
  db = new DatabaseSync(":memory:");
  migrate(db);
});
afterEach(() => db.close());

function read(id: string): TaskRecord | undefined {
  const row = new Statements(db).get(taskStatements.task, toStored(id));
  return row === undefined ? undefined : recordOf(row, inClear);
}

/** Leaves the taskTable empty for the next one. */
function insertAndRead(task: TaskRecord): TaskRecord | undefined {
  db.prepare(insertTask).run(...rowOf(task, inClear));
  const found = read(task.id);
  db.prepare(rows.deleteTask).run(toStored(task.id));
  return found;
}

test("every record comes back from the taskTable as it was, with every member", () => {
  const property = fc.property(record, (task) => {
    expect(insertAndRead(task)).toStrictEqual(task);
  });
  fc.assert(property, { numRuns: 500 });
});

test.each(taskStates)("a %s record comes back from the taskTable", (state) => {
  const property = fc.property(record, (task) => {
    expect(insertAndRead({ ...task, state })).toStrictEqual({ ...task, state });
  });
  fc.assert(property, { numRuns: 20 });
});

test("an update leaves what is fixed at creation and changes all else", () => {
  const property = fc.property(record, record, (before, after) => {
    db.prepare(insertTask).run(...rowOf(before, inClear));
    const { names: columns, values } = taskTable.changes(before.id, before, after, inClear);
    db.prepare(updateTask(columns)).run(...values, toStored(before.id));
    const { id, wireId, generation, scope, principal, method, tool, parent } = before;
    const { requestHash, requiredScopes, createdAt } = before;
    const names = { id, wireId, generation, scope, principal, method, tool, parent };
    const call = { requestHash, requiredScopes, createdAt };
    const { notifies: _ignored, ...changed } = after;
    const told = before.notifies && { notifies: before.notifies };
    expect(read(id)).toStrictEqual({ ...changed, ...names, ...call, ...told });
    db.prepare(rows.deleteTask).run(toStored(id));
  });
  fc.assert(property, { numRuns: 200 });
});
