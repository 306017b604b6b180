import { RelatedTaskMetadataSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { relatedTask, relatedTaskOf, withRelatedTask } from "../../../src/generation/2025-11-25.ts";

const key = "io.modelcontextprotocol/related-task";

it("stands under its full key and holds the id [C-097]", () => {
  expect(relatedTask("a")).toEqual({ [key]: { taskId: "a" } });
  expect(RelatedTaskMetadataSchema.parse(relatedTask("a")[key])).toEqual({ taskId: "a" });
});

it("goes into _meta beside what is there, and changes nothing else [C-063]", () => {
  const result = { _meta: { b: 1, a: [2] }, content: [], isError: false };
  const related = { _meta: { b: 1, a: [2], [key]: { taskId: "a" } }, content: [], isError: false };
  expect(JSON.stringify(withRelatedTask(result, "a"))).toBe(JSON.stringify(related));
  expect(JSON.stringify(withRelatedTask({ z: 1, y: 2 }, "a"))).toBe(
    `{"z":1,"y":2,"_meta":{"${key}":{"taskId":"a"}}}`,
  );
});

it("takes any member, and any _meta", () => {
  const odd = JSON.parse('{"__proto__":{"x":1},"_meta":null}') as Record<string, unknown>;
  expect(JSON.stringify(withRelatedTask(odd, "a"))).toBe(
    `{"__proto__":{"x":1},"_meta":{"${key}":{"taskId":"a"}}}`,
  );
});

it("names this task, whatever task was named before", () => {
  expect(relatedTaskOf(withRelatedTask({ _meta: relatedTask("other") }, "a"))).toBe("a");
});

it.each([
  undefined,
  null,
  5,
  [],
  {},
  { _meta: null },
  { _meta: {} },
  { _meta: { [key]: "a" } },
  { _meta: { [key]: { taskId: 1 } } },
])("is not in %j", (params) => {
  expect(relatedTaskOf(params)).toBeUndefined();
});
