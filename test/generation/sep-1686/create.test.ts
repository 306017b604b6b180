import { expect, it } from "vitest";
import { asksForTask, readTaskParams, withTask } from "../../../src/generation/sep-1686.ts";

const key = "modelcontextprotocol.io/task";
const params = (task: unknown): object => ({ name: "render", _meta: { [key]: task } });

it.each([
  undefined,
  null,
  [],
  {},
  { _meta: null },
  { _meta: {} },
  { task: { taskId: "a" } },
  { _meta: { "io.modelcontextprotocol/task": { taskId: "a" } } },
])("is not asked for in %j [S-006]", (request) => {
  expect(asksForTask(request)).toBe(false);
  expect(readTaskParams(request)).toBeUndefined();
});

it.each([
  [{ taskId: "a" }, { taskId: "a" }],
  [
    { taskId: "a", keepAlive: 60_000 },
    { taskId: "a", keepAliveMs: 60_000 },
  ],
  [
    { taskId: "a", keepAlive: 0 },
    { taskId: "a", keepAliveMs: 0 },
  ],
  [{ taskId: "\u0000ü\ud800", more: 1 }, { taskId: "\u0000ü\ud800" }],
  [{ taskId: "x".repeat(1_024) }, { taskId: "x".repeat(1_024) }],
])("is asked for under the requestor's own id: %j [S-006 S-007 S-008]", (task, wanted) => {
  expect(asksForTask(params(task))).toBe(true);
  expect(readTaskParams(params(task))).toEqual(wanted);
});

it.each([
  null,
  true,
  "a",
  [],
  {},
  { taskId: 7 },
  { taskId: null },
  { taskId: "" },
  { taskId: "x".repeat(1_025) },
  { taskId: "é".repeat(513) },
])("cannot be asked for by %j [S-007 S-020]", (task) => {
  expect(asksForTask(params(task))).toBe(true);
  expect(() => readTaskParams(params(task))).toThrow(expect.objectContaining({ code: "invalid_params" }));
  expect(() => readTaskParams(params(task))).toThrow("a taskId: a string of 1 to 1024 bytes");
});

it.each([null, -1, Infinity, Number.NaN, "60000", {}])("has no keepAlive of %j [A-15]", (keepAlive) => {
  const request = params({ taskId: "a", keepAlive });
  expect(() => readTaskParams(request)).toThrow(expect.objectContaining({ code: "invalid_params" }));
  expect(() => readTaskParams(request)).toThrow(`_meta["${key}"].keepAlive must be`);
});

it("is asked for beside what else is in _meta [S-006 S-008]", () => {
  const request = { name: "render", _meta: { progressToken: 1 } };
  expect(withTask(request, { taskId: "a" })).toEqual({
    name: "render",
    _meta: { progressToken: 1, [key]: { taskId: "a" } },
  });
  const kept = withTask(request, { taskId: "a", keepAliveMs: 5 });
  expect(kept["_meta"]).toEqual({ progressToken: 1, [key]: { taskId: "a", keepAlive: 5 } });
  expect(readTaskParams(kept)).toEqual({ taskId: "a", keepAliveMs: 5 });
});
