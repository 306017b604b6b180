import { TaskResultV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { taskResult } from "../../../src/generation/2025-11-25.ts";
import { cancelled, completed, failedRequest, failedResult, working } from "./sample-view.ts";

const _meta = { "io.modelcontextprotocol/related-task": { taskId: "task-a" } };
const content = [{ type: "text", text: "14 pages" }];

it("is the result of the request and says which task it is of [C-057 C-058 C-063]", () => {
  const answer = taskResult(completed({ structuredContent: { pages: 14 }, content }));
  expect(answer).toEqual({ result: { structuredContent: { pages: 14 }, content, _meta } });
  const result = "result" in answer ? answer.result : {};
  expect(CallToolResultSchema.parse(result)).toEqual(result);
  expect(TaskResultV1Schema.parse(result)).toEqual(result);
});

it("keeps the _meta of the result [C-057]", () => {
  expect(taskResult(completed({ content, _meta: { cost: 3 } }))).toEqual({
    result: { content, _meta: { cost: 3, ..._meta } },
  });
});

it("is a result also where that is an error [C-062]", () => {
  expect(taskResult(failedResult({ content }))).toEqual({ result: { content, isError: true, _meta } });
});

it("is the error of the request, untouched [C-058 C-061 C-P-002 A-12]", () => {
  const error = { code: -32602, message: "no such report", data: { reportId: "q5", _meta: {} } };
  expect(taskResult(failedRequest(error))).toEqual({ error });
});

it("is refused for a cancelled task [A-10]", () => {
  expect(() => taskResult(cancelled())).toThrow(
    expect.objectContaining({ code: "invalid_params", message: "Task was cancelled" }),
  );
});

it("is for tasks that are over alone", () => {
  expect(() => taskResult(working())).toThrow("has no outcome");
});
