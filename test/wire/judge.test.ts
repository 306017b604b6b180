import { expect, it } from "vitest";
import { judge } from "./judge.ts";

const createdAt = "2026-09-01T10:00:00.000Z";
const task = { taskId: "t", status: "working", createdAt, lastUpdatedAt: createdAt, ttlMs: null };
const result = { resultType: "complete", content: [] };
const got = { ...task, resultType: "complete" };

function problems(method: string, sent: object, id = 1): unknown[] {
  return judge([
    { from: "client", headers: {}, message: { id: 1, method } },
    { from: "server", status: 200, message: { jsonrpc: "2.0", id, ...sent } },
  ]);
}

it("accepts what is published", () => {
  expect(problems("tasks/get", { result: { ...got, status: "completed", result } })).toEqual([]);
  expect(problems("tools/call", { result: { ...task, resultType: "task" } })).toEqual([]);
  expect(problems("tasks/cancel", { error: { code: -32602, message: "Unknown" } })).toEqual([]);
});

it.each<[string, string, object]>([
  ["a task without its ttl", "tasks/get", { result: { ...got, ttlMs: undefined } }],
  ["a member that is not published", "tasks/get", { result: { ...got, requestState: "v1.a" } }],
  ["a completed task without its result", "tasks/get", { result: { ...got, status: "completed" } }],
  ["a result in it without a type", "tasks/get", { result: { ...got, status: "completed", result: {} } }],
  ["a failed task without its error", "tasks/get", { result: { ...got, status: "failed" } }],
  ["a result without a type", "tasks/update", { result: {} }],
  ["a task as the answer to another method", "tasks/get", { result: { ...task, resultType: "task" } }],
  ["an error without a code", "tasks/get", { error: { message: "Unknown" } }],
  ["an answer that says nothing", "tasks/get", {}],
])("refuses %s", (_, method, sent) => {
  expect(problems(method, sent)).toHaveLength(1);
});

it("refuses an answer that nobody asked for", () => {
  expect(problems("tasks/get", { result: got }, 2)).toHaveLength(1);
});
