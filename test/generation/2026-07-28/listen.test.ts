import {
  TaskStatusNotificationV2Schema,
  TaskSubscriptionAcknowledgedNotificationsV2Schema,
} from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect, it } from "vitest";
import {
  acknowledgedTasks,
  listenEnd,
  maxTaskIds,
  readTaskIds,
  subscriptionOf,
  taskListening,
  taskNotification,
} from "../../../src/generation/2026-07-28-listen.ts";

const meta = { "io.modelcontextprotocol/subscriptionId": 30 };

it("takes the ids out of a filter, and leaves the rest for others [X-085]", () => {
  const params = { notifications: { taskIds: ["a"], toolsListChanged: true }, _meta: { a: 1 } };
  expect(taskListening(params)).toEqual({
    taskIds: ["a"],
    resources: [],
    others: { notifications: { toolsListChanged: true }, _meta: { a: 1 } },
  });
});

it.each([
  undefined,
  null,
  [],
  {},
  { notifications: ["taskIds"] },
  { notifications: { toolsListChanged: true } },
])("finds no tasks in %j", (params) => {
  expect(taskListening(params)).toBeUndefined();
});

it("names each id once, in the order in which they came", () => {
  expect(readTaskIds(["b", "a", "b"])).toEqual(["b", "a"]);
  expect(readTaskIds([])).toEqual([]);
});

it.each([[null], ["a"], [{ 0: "a" }], [["a", 7]], [Array.from({ length: maxTaskIds + 1 }, String)]])(
  "refuses ids that are none, and too many [X-096] (%#)",
  (taskIds) => {
    expect(() => readTaskIds(taskIds)).toThrow(
      expect.objectContaining({ code: "invalid_params", message: expect.stringContaining("taskIds") }),
    );
  },
);

it("completes an acknowledgement that the SDK made [X-086]", () => {
  const params = { notifications: { toolsListChanged: true }, _meta: meta };
  const acknowledged = acknowledgedTasks(params, { taskIds: ["a"], uris: [] });
  TaskSubscriptionAcknowledgedNotificationsV2Schema.parse(acknowledged["notifications"]);
  expect(acknowledged).toEqual({
    notifications: { toolsListChanged: true, taskIds: ["a"] },
    _meta: meta,
  });
});

it("takes logs and outputs of tasks out of the resources that are listened to, and adds them to the acknowledgement", () => {
  const own = ["test://a", "task://t/journal"];
  const [log, output] = ["task://t/log", "task://t/output?after=3"];
  const asked = { notifications: { resourceSubscriptions: [log, ...own, output, log] }, _meta: meta };
  const listening = taskListening(asked);
  expect(listening?.resources.map(({ uri }) => uri)).toEqual([log, output]);
  expect([listening?.taskIds, listening?.others]).toEqual([
    undefined,
    { notifications: { resourceSubscriptions: own }, _meta: meta },
  ]);
  const alone = { notifications: { taskIds: ["t"], resourceSubscriptions: [log] } };
  expect(taskListening(alone)?.others).toEqual({ notifications: {} });
  expect(taskListening({ notifications: { resourceSubscriptions: own } })).toBeUndefined();
  expect(taskListening({ notifications: { resourceSubscriptions: log } })).toBeUndefined();
  expect(
    acknowledgedTasks({ notifications: { resourceSubscriptions: own } }, { taskIds: undefined, uris: [log] }),
  ).toEqual({ notifications: { resourceSubscriptions: [...own, log] } });
  expect(acknowledgedTasks({ notifications: {} }, { taskIds: undefined, uris: [] })).toEqual({
    notifications: {},
  });
});

it("counts tasks, logs and outputs together", () => {
  expect(readTaskIds(["a"], 1, 2)).toEqual(["a"]);
  expect(() => readTaskIds(["a", "b"], 1, 2)).toThrow("more than 2 tasks, logs and outputs");
});

it("writes the id of the subscription on everything, as it was sent [X-083 X-B-013 X-B-015]", () => {
  const task = {
    taskId: "a",
    status: "working",
    createdAt: "2026-09-01T10:00:00.000Z",
    lastUpdatedAt: "2026-09-01T10:00:00.000Z",
    ttlMs: null,
    pollIntervalMs: 1_000,
  } as const;
  const notification = taskNotification(task, 30);
  TaskStatusNotificationV2Schema.parse(notification);
  expect(notification).toEqual({
    jsonrpc: "2.0",
    method: "notifications/tasks",
    params: { ...task, _meta: meta },
  });
  expect(listenEnd(30)).toEqual({ jsonrpc: "2.0", id: 30, result: { resultType: "complete", _meta: meta } });
  for (const id of [30, "30"]) {
    expect(subscriptionOf(taskNotification(task, id).params)).toBe(id);
    expect(subscriptionOf(listenEnd(id).result)).toBe(id);
  }
  expect(subscriptionOf({ _meta: {} })).toBeUndefined();
});
