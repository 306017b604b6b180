import { expect, it } from "vitest";
import { wireTask } from "../../../src/generation/2026-07-28.ts";
import { cancelled, completed, failed, working } from "./sample-view.ts";

it("shows ids, ISO times and milliseconds [X-016 X-020 X-021 X-022 X-024]", () => {
  expect(wireTask(working({ updatedAt: Date.UTC(2026, 10, 1, 12, 0, 3, 7) }))).toEqual({
    taskId: "task-a",
    status: "working",
    statusMessage: "publish",
    createdAt: "2026-11-01T12:00:00.000Z",
    lastUpdatedAt: "2026-11-01T12:00:03.007Z",
    ttlMs: 60_000,
    pollIntervalMs: 1000,
    _meta: { "holdfast/tool": "publish" },
  });
});

it("names the tool until there is something to say, and never in its stead", () => {
  expect(wireTask(working({ progress: { progress: 1 } })).statusMessage).toBe("1");
  expect(wireTask(working({ statusMessage: "" })).statusMessage).toBe("publish");
  expect(wireTask(working({ statusMessage: "", progress: { progress: 1 } })).statusMessage).toBe("1");
  expect(wireTask(completed({}))).not.toHaveProperty("statusMessage");
  // What is no call of a tool was made by none.
  const read = wireTask(working({ method: "resources/read", tool: "resources/read" }));
  expect(read).not.toHaveProperty("statusMessage");
  expect(read).not.toHaveProperty("_meta");
});

it("says null for a task without end [X-022]", () => {
  expect(wireTask(working({ expiry: { from: "created", ms: null } })).ttlMs).toBeNull();
});

it("shows the status text in any status [X-018]", () => {
  expect(wireTask(working({ statusMessage: "page 3" })).statusMessage).toBe("page 3");
  expect(wireTask(completed({}, { statusMessage: "done" })).statusMessage).toBe("done");
  expect(wireTask(cancelled())).not.toHaveProperty("statusMessage");
});

it("completes with any result and fails with JSON-RPC errors alone [X-017 X-033 X-034 A-09]", () => {
  expect(wireTask(completed({ content: [] })).status).toBe("completed");
  expect(wireTask(completed({ content: [], isError: true })).status).toBe("completed");
  expect(wireTask(failed({ code: -32603, message: "no" })).status).toBe("failed");
  expect(wireTask(cancelled()).status).toBe("cancelled");
});

it("refuses a settled task without an outcome, which no store may show", () => {
  expect(() => wireTask({ ...completed({}), outcome: null })).toThrow("outcome is missing");
});
