import { expect, it } from "vitest";
import { deleteTaskResult } from "../../../src/generation/sep-1686.ts";

it("is answered with nothing but the task that it is about [S-051]", () => {
  expect(deleteTaskResult("mine", undefined)).toEqual({
    _meta: { "modelcontextprotocol.io/related-task": { taskId: "mine" } },
  });
});
