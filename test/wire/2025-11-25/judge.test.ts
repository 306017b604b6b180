import { expect, it } from "vitest";
import { judge } from "./judge.ts";
import type { Entry, Message } from "./transcript.ts";

const at = "2026-09-01T10:00:00.000Z";
const task = { taskId: "t", status: "working", createdAt: at, lastUpdatedAt: at, ttl: null };
const _meta = { "io.modelcontextprotocol/related-task": { taskId: "t" } };
const result = { content: [] };

/** What is wrong with a message of the server, after a request of the client. */
function problems(method: string, params: object, message: object): unknown[] {
  const asked: Entry = { from: "client", message: { jsonrpc: "2.0", id: 1, method, params } };
  const sent: Message = { jsonrpc: "2.0", ...message };
  return judge([asked], [{ from: "server", on: "pipe", message: sent }]);
}

const call = { name: "render", task: {}, _meta: { progressToken: "p" } };
const progress = { progressToken: "p", progress: 1 };
const elicit = { mode: "form", message: "?", requestedSchema: { type: "object", properties: {} } };

it.each<[string, string, object, object]>([
  ["a task", "tools/call", call, { id: 1, result: { task, _meta } }],
  ["its state", "tasks/get", { taskId: "t" }, { id: 1, result: task }],
  ["its result", "tasks/result", { taskId: "t" }, { id: 1, result: { ...result, _meta } }],
  ["its error", "tasks/result", { taskId: "t" }, { id: 1, error: { code: -1, message: "no" } }],
  ["its progress", "tools/call", call, { method: "notifications/progress", params: { ...progress, _meta } }],
  [
    "its question",
    "tools/call",
    call,
    { id: "s", method: "elicitation/create", params: { ...elicit, _meta } },
  ],
  ["its status", "tools/call", call, { method: "notifications/tasks/status", params: task }],
])("accepts %s", (_, method, params, message) => {
  expect(problems(method, params, message)).toEqual([]);
});

it.each<[string, string, object, object]>([
  ["a flat task", "tools/call", call, { id: 1, result: { ...task, _meta } }],
  ["a task without its relation", "tools/call", call, { id: 1, result: { task } }],
  ["a state with one", "tasks/get", { taskId: "t" }, { id: 1, result: { ...task, _meta } }],
  ["a state without a ttl", "tasks/get", { taskId: "t" }, { id: 1, result: { ...task, ttl: undefined } }],
  ["a result of another task", "tasks/result", { taskId: "u" }, { id: 1, result: { ...result, _meta } }],
  ["a result that is none", "tasks/result", { taskId: "t" }, { id: 1, result: { content: 1, _meta } }],
  ["progress of nothing", "tools/call", call, { method: "notifications/progress", params: progress }],
  ["a question of nothing", "tools/call", call, { id: "s", method: "elicitation/create", params: elicit }],
  [
    "a related status",
    "tools/call",
    call,
    { method: "notifications/tasks/status", params: { ...task, _meta } },
  ],
  [
    "a message that nobody knows",
    "tools/call",
    call,
    { method: "notifications/tasks/created", params: task },
  ],
  ["an answer to nothing", "tasks/get", { taskId: "t" }, { id: 2, result: task }],
])("refuses %s", (_, method, params, message) => {
  expect(problems(method, params, message)).toHaveLength(1);
});
