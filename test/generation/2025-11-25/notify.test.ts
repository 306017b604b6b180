import { TaskStatusNotificationV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { ProgressNotificationSchema, TaskStatusNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { progressNotification, statusNotification, wireTask } from "../../../src/generation/2025-11-25.ts";
import { completed, failedResult, working } from "./sample-view.ts";

it("shows the whole task, flat and related to nothing [C-066 C-069]", () => {
  for (const { task } of [working(), completed({ content: [] }), failedResult({})]) {
    const message = statusNotification(wireTask(task));
    expect(message.method).toBe("notifications/tasks/status");
    expect(message.params).toEqual(wireTask(task));
    const { jsonrpc, ...notification } = message;
    expect(jsonrpc).toBe("2.0");
    expect(TaskStatusNotificationSchema.parse(notification)).toEqual(notification);
    expect(TaskStatusNotificationV1Schema.parse(message)).toEqual(message);
  }
});

it.each(["rr-2", 0])("shows progress under the token %j of the request", (token) => {
  const { jsonrpc, ...notification } = progressNotification(
    token,
    { progress: 3, total: 14, message: "Page 3" },
    "task-a",
  );
  expect(jsonrpc).toBe("2.0");
  expect(notification).toEqual({
    method: "notifications/progress",
    params: {
      progressToken: token,
      progress: 3,
      total: 14,
      message: "Page 3",
      _meta: { "io.modelcontextprotocol/related-task": { taskId: "task-a" } },
    },
  });
  expect(ProgressNotificationSchema.parse(notification)).toEqual(notification);
});
