import { TaskStatusNotificationV1Schema } from "@modelcontextprotocol/ext-tasks/core/v1";
import { ProgressNotificationSchema, TaskStatusNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { progressNotification, statusNotification, wireTask } from "../../../src/generation/2025-11-25.ts";
import { completed, failedResult, working } from "./sample-view.ts";

it("shows the whole task, flat and related to nothing [C-066 C-069]", () => {
  for (const { task } of [working(), completed({ content: [] }), failedResult({})]) {
    const notification = statusNotification(wireTask(task));
    expect(notification.method).toBe("notifications/tasks/status");
    expect(notification.params).toEqual(wireTask(task));
    expect(TaskStatusNotificationSchema.parse(notification)).toEqual(notification);
    const message = { jsonrpc: "2.0", ...notification };
    expect(TaskStatusNotificationV1Schema.parse(message)).toEqual(message);
  }
});

it.each(["rr-2", 0])("shows progress under the token %j of the request", (token) => {
  const progress = { progress: 3, total: 14, message: "Page 3" };
  const notification = progressNotification(token, progress, { wireId: "task-a" });
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
