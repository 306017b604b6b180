import { CreateTaskResultV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { CreateTaskResultSchema, TaskMetadataSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { createTaskResult, immediateResponseOf, readTaskParams } from "../../../src/generation/2025-11-25.ts";
import { completed, failedResult, working } from "./sample-view.ts";

const related = { "io.modelcontextprotocol/related-task": { taskId: "task-a" } };

describe("params.task", () => {
  it.each([undefined, null, [], {}, { task: undefined }, { name: "render" }])("is absent in %j", (params) => {
    expect(readTaskParams(params)).toBeUndefined();
  });

  it.each([
    [{}, {}],
    [{ ttl: 60_000 }, { ttlMs: 60_000 }],
    [{ ttl: 0 }, { ttlMs: 0 }],
  ])("may be %j [C-020 A-15]", (task, wanted) => {
    expect(readTaskParams({ task })).toEqual(wanted);
    expect(TaskMetadataSchema.safeParse(task).success).toBe(true);
  });

  it("keeps a task no shorter than was asked, and no longer than a store can say", () => {
    expect(readTaskParams({ task: { ttl: 0.2 } })).toEqual({ ttlMs: 1 });
    const longest = readTaskParams({ task: { ttl: Number.MAX_VALUE } })?.ttlMs ?? Number.NaN;
    expect(Number.isSafeInteger(Date.UTC(2100, 0) + longest)).toBe(true);
    expect(new Date(Date.UTC(2100, 0) + longest).toISOString()).toMatch(/^2\d{3}-/);
  });

  it("passes over an id and all else that stands there [C-040]", () => {
    expect(readTaskParams({ task: { taskId: "mine", ttl: 5, keepAlive: -1 } })).toEqual({ ttlMs: 5 });
  });

  it.each([null, true, "now", 5, [], [{}]])("cannot be %j [C-020]", (task) => {
    expect(() => readTaskParams({ task })).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect(() => readTaskParams({ task })).toThrow("params.task must be");
  });

  it.each([null, -1, Infinity, -Infinity, Number.NaN, "60000", {}])(
    "has no ttl of %j [C-020 A-15]",
    (ttl) => {
      expect(() => readTaskParams({ task: { ttl } })).toThrow(
        expect.objectContaining({ code: "invalid_params" }),
      );
      expect(() => readTaskParams({ task: { ttl } })).toThrow("params.task.ttl");
    },
  );
});

describe("the answer", () => {
  it("nests the task and names it in _meta, without anything of a result [C-024 C-025 A-41]", () => {
    const result = createTaskResult(working());
    const { _meta, ...task } = result.task;
    expect(_meta).toEqual({ "holdfast/tool": "publish" });
    expect({ ...result, task }).toEqual({
      task: {
        taskId: "task-a",
        status: "working",
        statusMessage: "publish",
        createdAt: "2026-11-01T12:00:00.000Z",
        lastUpdatedAt: "2026-11-01T12:00:00.000Z",
        ttl: 60_000,
        pollInterval: 1000,
      },
      _meta: related,
    });
    expect(CreateTaskResultSchema.parse(result)).toEqual({ ...result, task });
    expect(CreateTaskResultV1Schema.parse(result)).toEqual({ ...result, task });
  });

  it("says working, also where a repeated call finds the task finished [C-042]", () => {
    for (const view of [working({ openInputs: 1 }), completed({ content: [] }), failedResult({})]) {
      expect(createTaskResult(view).task.status).toBe("working");
    }
    const failed = failedResult({}, { statusMessage: "no paper" });
    expect(createTaskResult(failed).task).not.toHaveProperty("statusMessage");
  });

  it("has a text for the model where there is one [C-026]", () => {
    const result = createTaskResult(working(), "Rendering.");
    expect(result._meta).toEqual({
      "io.modelcontextprotocol/model-immediate-response": "Rendering.",
      ...related,
    });
    expect(immediateResponseOf({ ...result })).toBe("Rendering.");
    expect(immediateResponseOf({ ...createTaskResult(working()) })).toBeUndefined();
  });

  it.each([{}, { _meta: null }, { _meta: { "io.modelcontextprotocol/model-immediate-response": 5 } }])(
    "has no text for the model in %j",
    (result) => {
      expect(immediateResponseOf(result)).toBeUndefined();
    },
  );
});
