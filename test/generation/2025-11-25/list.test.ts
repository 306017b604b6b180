import { ListTasksResultV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { ListTasksResultSchema } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeCursor, listResult, readCursor } from "../../../src/generation/2025-11-25/list.ts";
import { wireTask } from "../../../src/generation/2025-11-25/wire-task.ts";
import { completed, working } from "./sample-view.ts";

it("is a page of flat tasks, and says where the next one begins [C-071]", () => {
  const tasks = [wireTask(working().task), wireTask(completed({}).task)];
  const page = listResult(tasks, encodeCursor("task-a"));
  expect(Object.keys(page)).toEqual(["tasks", "nextCursor"]);
  expect(ListTasksResultSchema.parse(page)).toEqual(page);
  expect(ListTasksResultV1Schema.parse(page)).toEqual(page);
  expect(listResult([])).toEqual({ tasks: [] });
});

it("starts at the beginning without a cursor [C-070]", () => {
  for (const params of [undefined, null, {}, { cursor: undefined }]) {
    expect(readCursor(params)).toBeUndefined();
  }
});

it("takes back the cursor that it gave out, which shows nothing of the id [C-070]", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (id) => {
      const cursor = encodeCursor(id);
      expect(cursor).toMatch(/^[\w-]+$/);
      expect(readCursor({ cursor })).toBe(id);
    }),
  );
  expect(encodeCursor("task-a")).not.toContain("task");
});

const good = encodeCursor("task-a");
it.each([
  "garbage",
  "",
  "task-a",
  `${good}=`,
  `${good}!`,
  ` ${good}`,
  good.slice(0, -1),
  Buffer.from("task-a").toString("base64url"),
  Buffer.from("2:task-a").toString("base64url"),
  Buffer.from("1:").toString("base64url"),
  Buffer.from([0x31, 0x3a, 0xff]).toString("base64url"),
  null,
  5,
  {},
])("refuses the cursor %j [C-110]", (cursor) => {
  expect(() => readCursor({ cursor })).toThrow(expect.objectContaining({ code: "invalid_params" }));
  expect(() => readCursor({ cursor })).toThrow("params.cursor");
});

it("refuses what it would not have given out [C-110]", () => {
  fc.assert(
    fc.property(fc.string(), (cursor) => {
      let id: string | undefined;
      try {
        id = readCursor({ cursor });
      } catch {
        return;
      }
      expect(encodeCursor(id ?? "")).toBe(cursor);
    }),
  );
});
