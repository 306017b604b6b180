import { expect, it } from "vitest";
import { relatedTask, relatedTaskOf, withRelatedTask } from "../../../src/generation/sep-1686.ts";

const key = "modelcontextprotocol.io/related-task";

it("stands under its own key and holds the id [S-060]", () => {
  expect(relatedTask("a")).toEqual({ [key]: { taskId: "a" } });
});

it("goes into _meta beside what is there, and changes nothing else [S-061]", () => {
  const result = { _meta: { b: 1 }, content: [], isError: false };
  expect(JSON.stringify(withRelatedTask(result, "a"))).toBe(
    `{"_meta":{"b":1,"${key}":{"taskId":"a"}},"content":[],"isError":false}`,
  );
  expect(withRelatedTask({}, "a")).toEqual({ _meta: relatedTask("a") });
  expect(relatedTaskOf(withRelatedTask({ _meta: relatedTask("other") }, "a"))).toBe("a");
});

it.each([
  undefined,
  null,
  [],
  {},
  { _meta: null },
  { _meta: { [key]: "a" } },
  { _meta: { [key]: { taskId: 1 } } },
  { _meta: { "io.modelcontextprotocol/related-task": { taskId: "a" } } },
])("is not in %j", (params) => {
  expect(relatedTaskOf(params)).toBeUndefined();
});
