import { CreateTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect, it } from "vitest";
import { createTaskResult } from "../../../src/generation/2026-07-28.ts";
import { completed, working } from "./sample-view.ts";

it("is flat and says task [X-014 X-035 X-P-007]", () => {
  const result = createTaskResult(working());
  expect(result).toMatchObject({ resultType: "task", taskId: "task-a", status: "working" });
  expect(result).not.toHaveProperty("task");
  expect(CreateTaskResultV2Schema.parse(result)).toEqual(result);
});

it("can show a task that is finished, without its payload [X-036]", () => {
  const result = createTaskResult(completed({ content: [] }));
  expect(result.status).toBe("completed");
  expect(result).not.toHaveProperty("result");
  expect(CreateTaskResultV2Schema.safeParse(result).success).toBe(true);
});
