import { TaskV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { TaskSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { wireTask } from "../../../src/generation/2025-11-25.ts";
import { cancelled, completed, failedRequest, failedResult, working } from "./sample-view.ts";

it("shows ids, ISO times and milliseconds [C-030 C-033 C-034 C-035 C-036 C-039]", () => {
  const task = wireTask(working({ updatedAt: Date.UTC(2026, 10, 1, 12, 0, 3, 7) }).task);
  const { _meta, ...own } = task;
  expect(_meta).toEqual({ "holdfast/tool": "publish" });
  expect(own).toEqual({
    taskId: "task-a",
    status: "working",
    statusMessage: "publish",
    createdAt: "2026-11-01T12:00:00.000Z",
    lastUpdatedAt: "2026-11-01T12:00:03.007Z",
    ttl: 60_000,
    pollInterval: 1000,
  });
  // The schema of a task is open, and these two parsers leave out what it does not name.
  expect(TaskSchema.parse(task)).toEqual(own);
  expect(TaskV1Schema.parse(task)).toEqual(own);
});

it("says null for a task without end [C-035]", () => {
  const task = wireTask(working({ expiry: { from: "created", ms: null } }).task);
  expect(task.ttl).toBeNull();
  expect(TaskSchema.parse(task).ttl).toBeNull();
});

it("fails with a JSON-RPC error and with a result that is an error [C-031 C-116 A-09]", () => {
  expect(wireTask(working().task).status).toBe("working");
  expect(wireTask(working({ openInputs: 2 }).task).status).toBe("input_required");
  expect(wireTask(completed({ content: [] }).task).status).toBe("completed");
  expect(wireTask(failedResult({ content: [] }).task).status).toBe("failed");
  expect(wireTask(failedRequest({ code: -32603, message: "no" }).task).status).toBe("failed");
  expect(wireTask(cancelled().task).status).toBe("cancelled");
});

it("shows the status text in any status [C-032]", () => {
  const statusMessage = "page 3";
  for (const { task } of [
    working({ statusMessage }),
    completed({}, { statusMessage }),
    failedResult({}, { statusMessage }),
  ]) {
    expect(wireTask(task).statusMessage).toBe("page 3");
  }
  for (const { task } of [completed({}), cancelled()])
    expect(wireTask(task)).not.toHaveProperty("statusMessage");
});

it("leaves progress to its notifications, and names the tool until a text is set", () => {
  const progress = { progress: 1, total: 2 };
  for (const statusMessage of [null, ""]) {
    expect(wireTask(working({ progress, statusMessage }).task).statusMessage).toBe("publish");
  }
  // What is no call of a tool was made by none, such as a question that a client takes as a task.
  for (const other of [
    { method: "prompts/get", tool: "prompts/get" } as const,
    { tool: "elicitation/create" },
  ]) {
    const task = wireTask(working(other).task);
    expect(task).not.toHaveProperty("statusMessage");
    expect(task).not.toHaveProperty("_meta");
  }
});

it("refuses a settled task without an outcome, which no store may show", () => {
  expect(() => wireTask(completed({}, { outcomeKind: null }).task)).toThrow("outcome is missing");
});
