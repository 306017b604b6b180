import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { requestAnswer, taskResult } from "../../../src/generation/sep-1686.ts";
import { cancelled, completed, completedWithError, failed, submitted, working } from "./sample-view.ts";

const _meta = { "modelcontextprotocol.io/related-task": { taskId: "mine" } };
const content = [{ type: "text", text: "14 pages" }];
const error = { code: -32602, message: "no such report", data: { reportId: "q5" } };

it("is the result of the request and says which task it is of [S-040 S-041 S-061]", () => {
  const result = taskResult(completed({ structuredContent: { pages: 14 }, content, _meta: { cost: 3 } }));
  expect(result).toEqual({ structuredContent: { pages: 14 }, content, _meta: { cost: 3, ..._meta } });
  expect(CallToolResultSchema.parse(result)).toEqual(result);
});

it("is a result also where that is an error [S-084]", () => {
  expect(taskResult(completedWithError({ content }))).toEqual({ content, isError: true, _meta });
});

it.each([
  ["submitted", submitted()],
  ["working", working()],
  ["input_required", working({ openInputs: 1 })],
  ["failed", failed(error)],
  ["cancelled", cancelled()],
] as const)(
  "is refused for a task that is %s, which the refusal says [S-042 S-078 S-080]",
  (status, view) => {
    expect(() => taskResult(view)).toThrow(
      expect.objectContaining({
        code: "invalid_params",
        message: `No result: the task is in status "${status}"`,
      }),
    );
  },
);

it("answers the request itself as if it were no task, but for the task that it names [S-015 S-061]", () => {
  expect(requestAnswer(completed({ content }))).toEqual({ result: { content, _meta } });
  expect(requestAnswer(completedWithError({ content }))).toEqual({
    result: { content, isError: true, _meta },
  });
  expect(requestAnswer(failed(error))).toEqual({ error });
});

it("says so where the task was cancelled", () => {
  expect(requestAnswer(cancelled())).toEqual({
    error: { code: -32603, message: "The task was cancelled" },
  });
});
