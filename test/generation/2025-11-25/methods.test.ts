import { readTaskId } from "../../../src/generation/message.ts";
import { expect, it } from "vitest";
import { taskMethods } from "../../../src/generation/2025-11-25.ts";

const withId = ["tasks/get", "tasks/result", "tasks/cancel"] as const;

it("knows the methods", () => {
  expect(taskMethods).toEqual(["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"]);
});

it.each(withId)("reads the id of %s and looks at no other [C-046 C-056 C-076 C-100]", (method) => {
  const _meta = { "io.modelcontextprotocol/related-task": { taskId: "b" } };
  expect(readTaskId(method, { taskId: "a", _meta })).toBe("a");
  expect(() => readTaskId(method, { _meta })).toThrow("params.taskId");
});

it.each(withId)("refuses %s without an id and says so [C-114]", (method) => {
  for (const params of [undefined, null, [], {}, { taskId: "" }, { taskId: 7 }, { taskId: null }]) {
    expect(() => readTaskId(method, params)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect(() => readTaskId(method, params)).toThrow(`${method} needs params.taskId`);
  }
});
