import { ProgressNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { createdNotification, progressNotification } from "../../../src/generation/sep-1686.ts";

const _meta = { "modelcontextprotocol.io/related-task": { taskId: "mine" } };

it("says that a task is there and nothing else [S-011 S-012]", () => {
  expect(createdNotification("mine")).toEqual({
    method: "notifications/tasks/created",
    params: { _meta },
  });
});

it.each(["rr-2", 0])("shows progress under the token %j of the request [S-061]", (token) => {
  const progress = { progress: 3, total: 14, message: "Page 3" };
  const notification = progressNotification(token, progress, { wireId: "mine" });
  expect(notification).toEqual({
    method: "notifications/progress",
    params: { progressToken: token, progress: 3, total: 14, message: "Page 3", _meta },
  });
  expect(ProgressNotificationSchema.parse(notification)).toEqual(notification);
});
