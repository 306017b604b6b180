import { expect, it } from "vitest";
import { readCommand, taskableMethods, taskMethods } from "../../../src/generation/2026-07-28.ts";

it("knows tools/call as the one request that becomes a task, as data [X-011 X-012]", () => {
  expect(taskableMethods).toEqual(["tools/call"]);
});

it("reads the commands [X-041 X-056 X-073]", () => {
  expect(readCommand("tasks/get", { taskId: "a" })).toEqual({ type: "get", taskId: "a" });
  expect(readCommand("tasks/cancel", { taskId: "a" })).toEqual({ type: "cancel", taskId: "a" });
  const params = { taskId: "a", inputResponses: { go: { action: "accept" } } };
  expect(readCommand("tasks/update", params)).toEqual({
    type: "update",
    taskId: "a",
    answers: [{ key: "go", value: '{"action":"accept"}' }],
  });
});

it("reads whatever was sent for a key, and takes none at all [X-063]", () => {
  const inputResponses = { a: 1, b: null, c: [], d: "x", e: {} };
  const command = readCommand("tasks/update", { taskId: "a", inputResponses });
  expect(command).toMatchObject({
    answers: [
      { key: "a", value: "1" },
      { key: "b", value: "null" },
      { key: "c", value: "[]" },
      { key: "d", value: '"x"' },
      { key: "e", value: "{}" },
    ],
  });
  expect(readCommand("tasks/update", { taskId: "a", inputResponses: {} })).toMatchObject({ answers: [] });
});

it.each(taskMethods)("refuses %s without a task id and says so [X-096]", (method) => {
  for (const params of [undefined, null, [], {}, { taskId: "" }, { taskId: 7 }, { taskId: null }]) {
    expect(() => readCommand(method, params)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect(() => readCommand(method, params)).toThrow("params.taskId");
  }
});

it("refuses answers that are no object [X-056]", () => {
  for (const inputResponses of [undefined, null, [], "a"]) {
    expect(() => readCommand("tasks/update", { taskId: "a", inputResponses })).toThrow(
      "params.inputResponses",
    );
  }
});
