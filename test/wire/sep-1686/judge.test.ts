import { expect, it } from "vitest";
import type { Message } from "../2025-11-25/transcript.ts";
import { judge } from "./judge.ts";

const related = { _meta: { "modelcontextprotocol.io/related-task": { taskId: "a" } } };
const get = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: "a" } };
const task = { taskId: "a", status: "working", keepAlive: 1, pollFrequency: 1, ...related };

function problems(message: Message): number {
  return judge(
    [{ from: "client", message: get }],
    [{ from: "server", message: { jsonrpc: "2.0", ...message } }],
  ).length;
}

it("has nothing against what the proposal says", () => {
  expect(problems({ id: 1, result: task })).toBe(0);
  expect(problems({ method: "notifications/tasks/created", params: related })).toBe(0);
});

it.each([
  { id: 1, result: { ...task, ttl: 1 } },
  { id: 1, result: { ...task, status: "queued" } },
  { id: 1, result: { ...task, keepAlive: undefined } },
  { id: 1, result: { ...task, _meta: {} } },
  { id: 1, result: { ...task, _meta: { "modelcontextprotocol.io/related-task": { taskId: "b" } } } },
  { id: 2, result: task },
  { method: "notifications/tasks/created", params: { ...related, taskId: "a" } },
  { method: "notifications/tasks/status", params: related },
  { method: "elicitation/create", id: 5, params: {} },
])("finds what is wrong with %j", (message) => {
  expect(problems(message)).toBe(1);
});
