import { inClear, type Row } from "../../../src/store/row.ts";
import type { SQLInputValue } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { recordOf } from "../../../src/store/sqlite/statements.ts";
import { recordColumns, rowOf, taskTable } from "../../../src/store/tables/task.ts";
import type { TaskRecord } from "../../../src/task/record.ts";

/** Every member has a value of its own, so that no two can be mixed up. */
const full: TaskRecord = {
  retrieved: { at: 20, via: "tasks/get" },
  id: "id",
  wireId: "wire",
  generation: "sep-1686",
  scope: "scope",
  principal: "ann",
  method: "tools/call",
  tool: "tool",
  parent: { id: "parent", key: "call", root: "root", cancelGraceMs: 20 },
  idempotencyKey: "key",
  requestHash: "hash",
  requiredScopes: ["reports:read", "reports:send"],
  state: "running",
  version: 1,
  createdAt: 2,
  updatedAt: 3,
  finishedAt: 4,
  expiry: { from: "terminal", ms: 5 },
  runUntil: 13,
  sweepAt: 6,
  pollIntervalMs: 7,
  statusMessage: "text",
  progress: { progress: 0.5, message: "half" },
  logged: 18,
  outputs: 19,
  openInputs: 8,
  childInputs: 16,
  openWaits: 17,
  cancelRequestedAt: 9,
  cancelBy: 14,
  owner: "owner",
  lane: "woken",
  runAfter: 15,
  awaitedBy: ["own", "other"],
  promised: true,
  attempt: 10,
  attempts: [
    { number: 9, owner: "other", startedAt: 7, endedAt: 8, end: "retried", error: "busy" },
    { number: 10, owner: "owner", startedAt: 11, endedAt: null, end: null },
  ],
  toolVersion: 18,
  failures: 19,
  limited: true,
  token: "token",
  startedAt: 11,
  journalled: true,
  waiting: false,
  waitsFor: null,
  crashes: 12,
  outcomeKind: "error_result",
  notifies: ["billing", "audit"],
};

const sparse: TaskRecord = {
  ...full,
  requiredScopes: [],
  principal: null,
  parent: null,
  idempotencyKey: null,
  finishedAt: null,
  expiry: { from: "created", ms: null },
  sweepAt: null,
  statusMessage: null,
  progress: null,
  cancelRequestedAt: null,
  cancelBy: null,
  owner: null,
  lane: null,
  runAfter: null,
  awaitedBy: [],
  promised: false,
  limited: false,
  token: null,
  attempts: [],
  startedAt: null,
  journalled: false,
  waiting: true,
  waitsFor: "sleep",
  outcomeKind: null,
};

type Values = Readonly<Record<string, SQLInputValue>>;

function named(columns: readonly string[], values: readonly SQLInputValue[]): Values {
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
}

/** A row as it would be read. */
function row(values: Values): Row {
  return recordColumns.map((column) => (values[column] as Row[number] | undefined) ?? null);
}

describe("a record as a row", () => {
  test.each([
    ["full", full],
    ["sparse", sparse],
  ])("a %s record comes back", (_, task) => {
    expect(recordOf(row(named(recordColumns, rowOf(task, inClear))), inClear)).toEqual(task);
  });

  test("an update writes all but what is fixed at creation", () => {
    const fixed = new Set([
      "id",
      "wire_id",
      "generation",
      "scope",
      "principal",
      "method",
      "tool",
      "parent",
      "request_hash",
      "required_scopes",
      "notifies",
      "created_at",
    ]);
    const { names, values } = taskTable.changes("id", full, sparse, inClear);
    expect(names.filter((name) => fixed.has(name))).toEqual([]);
    const updated = { ...named(recordColumns, rowOf(full, inClear)), ...named(names, values) };
    const { principal, parent, requiredScopes } = full;
    expect(recordOf(row(updated), inClear)).toEqual({
      ...sparse,
      principal,
      parent,
      requiredScopes,
    });
  });

  test("an update writes only what differs", () => {
    expect(taskTable.changes("id", full, full, inClear)).toEqual({ names: [], values: [] });
    const attempts = [...full.attempts];
    expect(taskTable.changes("id", full, { ...full, version: 9, progress: null, attempts }, inClear)).toEqual(
      {
        names: ["version", "progress", "attempts"],
        values: [9, null, rowOf(full, inClear)[recordColumns.indexOf("attempts")]],
      },
    );
  });

  test.each([
    ["a state that there is not", { state: "sleeping" }],
    ["a generation that there is not", { generation: "toString" }],
    ["nothing where something has to be", { request_hash: null }],
    ["a text for a number", { version: "1" }],
    ["a number for a text", { tool: 1 }],
    ["progress that is no JSON", { progress: "{" }],
    ["a parent that is no JSON", { parent: "{" }],
    ["a parent that is none", { parent: "null" }],
    ["a parent without a root", { parent: '{"id":"p","key":"k","cancelGraceMs":1}' }],
    ["attempts that are no JSON", { attempts: "[" }],
    ["attempts that are no list", { attempts: "{}" }],
    ["an attempt that is no list", { attempts: "[1]" }],
    ["an attempt without a number", { attempts: '[["o",1]]' }],
    ["an attempt without an owner", { attempts: "[[1,null,1]]" }],
    ["an attempt that began between two milliseconds", { attempts: '[[1,"o",0.5]]' }],
    ["an attempt that ended at no time", { attempts: '[[1,"o",1,"now"]]' }],
    ["an attempt that ended as none does", { attempts: '[[1,"o",1,2,"toString"]]' }],
    ["an attempt with an error that is no text", { attempts: '[[1,"o",1,2,"lost",{}]]' }],
    ["a lane that there is not", { lane: "fast" }],
    ["an expiry that there is not", { expiry: "sometime 5" }],
    ["an expiry after no time", { expiry: "created soon" }],
    ["a kind of outcome that there is not", { outcome_kind: "half" }],
  ])("%s is a fault and not a record", (_, damage) => {
    const damaged = row({ ...named(recordColumns, rowOf(full, inClear)), ...damage });
    expect(() => recordOf(damaged, inClear)).toThrow(expect.objectContaining({ code: "task_unreadable" }));
  });
});
