import { expect, it } from "vitest";
import {
  getTaskResult,
  isFinal,
  wireStatus,
  wireStatuses,
  wireTask,
} from "../../../src/generation/sep-1686.ts";
import { cancelled, completed, completedWithError, failed, submitted, working } from "./sample-view.ts";

const made = { "holdfast/tool": "publish" };
const _meta = { ...made, "modelcontextprotocol.io/related-task": { taskId: "mine" } };
const error = { code: 4001, message: "no paper", data: { tray: 2 } };

it("shows the requestor's id and milliseconds at the top level [S-035 S-036 S-037]", () => {
  const expected = { taskId: "mine", status: "working", keepAlive: 60_000, pollFrequency: 1000 };
  expect(wireTask(working().task)).toEqual({ ...expected, _meta: made });
  expect(getTaskResult(working())).toEqual({ ...expected, _meta });
});

it("says null for a task that is kept without end [S-036]", () => {
  expect(wireTask(working({ expiry: { from: "terminal", ms: null } }).task).keepAlive).toBeNull();
});

it("has seven statuses, four of them final [S-025 S-030 A-17]", () => {
  expect(wireStatuses.filter((status) => !isFinal(status))).toEqual([
    "submitted",
    "working",
    "input_required",
  ]);
  expect(wireStatuses).toHaveLength(7);
});

it("is submitted until an attempt begins, and not again after it [S-026 S-028]", () => {
  expect(wireStatus(submitted().task)).toBe("submitted");
  expect(wireStatus(working().task)).toBe("working");
  expect(wireStatus(submitted({ startedAt: 5, attempt: 1 }).task)).toBe("working");
});

it("completes with a result that is an error, and fails with an error [S-082 S-084 A-04 A-09]", () => {
  expect(wireStatus(working({ openInputs: 2 }).task)).toBe("input_required");
  expect(wireStatus(completed({ content: [] }).task)).toBe("completed");
  expect(wireStatus(completedWithError({ content: [] }).task)).toBe("completed");
  expect(wireStatus(failed(error).task)).toBe("failed");
  expect(wireStatus(cancelled().task)).toBe("cancelled");
  expect(wireStatus({ ...cancelled().task, startedAt: null })).toBe("cancelled");
});

it("says in full why a task failed, whatever its handler told before [S-083]", () => {
  const message = "x".repeat(5_000);
  const view = failed({ code: -32603, message }, { statusMessage: "page 3" });
  expect(getTaskResult(view)).toEqual({
    taskId: "mine",
    status: "failed",
    keepAlive: 60_000,
    pollFrequency: 1000,
    error: message,
    _meta,
  });
  expect(getTaskResult(failed({ code: 7, message: "" })).error).toBe("The request failed with code 7.");
});

it("has no error where a task did not fail [S-083]", () => {
  for (const view of [submitted(), working(), completed({}), completedWithError({}), cancelled()]) {
    expect(getTaskResult(view)).not.toHaveProperty("error");
    expect(wireTask({ ...view.task, statusMessage: "jam" })).not.toHaveProperty("error");
  }
  expect(wireTask(failed(error, { statusMessage: "jam" }).task).error).toBe("jam");
});

it("refuses a settled task without an outcome, which no store may show", () => {
  expect(() => wireTask(completed({}, { outcomeKind: null }).task)).toThrow("outcome is missing");
});
