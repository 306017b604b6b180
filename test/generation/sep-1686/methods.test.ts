import { readTaskId } from "../../../src/generation/message.ts";
import { expect, it } from "vitest";
import { taskMethods } from "../../../src/generation/sep-1686.ts";

const withId = ["tasks/get", "tasks/result", "tasks/delete"] as const;

it("knows the methods: none of them cancels [S-063]", () => {
  expect(taskMethods).toEqual(["tasks/get", "tasks/result", "tasks/list", "tasks/delete"]);
});

it.each(withId)("reads the id of %s and looks at no other [S-034 S-039 S-050 A-20]", (method) => {
  const _meta = { "modelcontextprotocol.io/related-task": { taskId: "b" } };
  expect(readTaskId(method, { taskId: "a", _meta })).toBe("a");
  expect(readTaskId(method, { taskId: "a" })).toBe("a");
  expect(() => readTaskId(method, { _meta })).toThrow("params.taskId");
});

it.each(withId)("refuses %s without an id and says so [S-020 S-075 S-080 A-18]", (method) => {
  for (const params of [undefined, null, [], {}, { taskId: "" }, { taskId: 7 }, { taskId: null }]) {
    expect(() => readTaskId(method, params)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect(() => readTaskId(method, params)).toThrow(`${method} needs params.taskId`);
  }
});
