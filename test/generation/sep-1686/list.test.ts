import { listResult } from "../../../src/generation/message.ts";
import { expect, it } from "vitest";
import { wireTask } from "../../../src/generation/sep-1686.ts";
import { completed, failed, working } from "./sample-view.ts";

it("is a page of tasks, and says where the next one begins [S-045 A-20]", () => {
  const tasks = [
    wireTask(working().task),
    wireTask(completed({}).task),
    wireTask(failed({ code: 1, message: "no" }, { statusMessage: "no" }).task),
  ];
  expect(listResult(tasks, "next")).toEqual({ tasks, nextCursor: "next" });
  expect(tasks[2]).toEqual({
    taskId: "mine",
    status: "failed",
    keepAlive: 60_000,
    pollFrequency: 1000,
    error: "no",
    _meta: { "holdfast/tool": "publish" },
  });
});

it("has no cursor on its last page [S-045]", () => {
  expect(listResult([])).toEqual({ tasks: [] });
});
