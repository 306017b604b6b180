import { ListTasksResultV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { ListTasksResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { listResult } from "../../../src/generation/2025-11-25/list.ts";
import { wireTask } from "../../../src/generation/2025-11-25/wire-task.ts";
import { encodeCursor } from "../../../src/generation/cursor.ts";
import { completed, working } from "./sample-view.ts";

it("is a page of flat tasks, and says where the next one begins [C-071]", () => {
  const tasks = [wireTask(working().task), wireTask(completed({}).task)];
  const page = listResult(tasks, encodeCursor("task-a"));
  expect(Object.keys(page)).toEqual(["tasks", "nextCursor"]);
  expect(ListTasksResultSchema.parse(page)).toEqual(page);
  expect(ListTasksResultV1Schema.parse(page)).toEqual(page);
  expect(listResult([])).toEqual({ tasks: [] });
});
