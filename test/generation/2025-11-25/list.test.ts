import { ListTasksResultV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { ListTasksResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { wireTask } from "../../../src/generation/2025-11-25.ts";
import { encodeCursor, listResult } from "../../../src/generation/message.ts";
import { completed, working } from "./sample-view.ts";

it("is a page of flat tasks, and says where the next one begins [C-071]", () => {
  const tasks = [wireTask(working().task), wireTask(completed({}).task)];
  const page = listResult(tasks, encodeCursor("task-a"));
  expect(Object.keys(page)).toEqual(["tasks", "nextCursor"]);
  // Of what is open in a task, these two parsers leave out what they do not name.
  const named = { ...page, tasks: page.tasks.map(({ _meta, ...task }) => task) };
  expect(ListTasksResultSchema.parse(page)).toEqual(named);
  expect(ListTasksResultV1Schema.parse(page)).toEqual(named);
  expect(listResult([])).toEqual({ tasks: [] });
});
