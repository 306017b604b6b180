import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { withMeta } from "../meta.ts";
import type { DetailedTask } from "./project.ts";

export const listenMethod = "subscriptions/listen";
export const acknowledgedMethod = "notifications/subscriptions/acknowledged";

/** Every message of a subscription says which one it belongs to (X-B-013). */
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/** As many ids as one request may name where the server says nothing else. */
export const maxTaskIds = 1_000;

/** The JSON-RPC id of the listen request. */
export type SubscriptionId = string | number;

/** A listen request that asks for tasks, taken apart. */
export interface TaskListening {
  /** As they were sent. */
  readonly taskIds: unknown;
  /** The params without the ids: what everybody else is asked for. */
  readonly others: JsonObject;
}

/** What `params` asks of us, or undefined where they name no tasks at all. */
export function taskListening(params: unknown): TaskListening | undefined {
  const notifications = isJsonObject(params) ? params["notifications"] : undefined;
  if (!isJsonObject(params) || !isJsonObject(notifications)) return undefined;
  const { taskIds, ...others } = notifications;
  return taskIds === undefined ? undefined : { taskIds, others: { ...params, notifications: others } };
}

/** The ids, each once; throws `invalid_params` for what is no list of ids, and for a list that is too long. */
export function readTaskIds(taskIds: unknown, most = maxTaskIds): readonly string[] {
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
    throw new HoldfastError("invalid_params", "notifications.taskIds has to be a list of strings.");
  }
  if (taskIds.length > most) {
    throw new HoldfastError("invalid_params", `notifications.taskIds has more than ${most} ids.`);
  }
  return [...new Set<string>(taskIds)];
}

/** Whether a listen request asks for tasks and nothing else. */
export function listensToTasksOnly({ params }: { readonly params: JsonObject }): boolean {
  const { notifications } = taskListening(params)?.others ?? {};
  return isJsonObject(notifications) && Object.keys(notifications).length === 0;
}

/** The acknowledgement of a subscription that listens to nothing yet. */
export function listenBegin(subscription: SubscriptionId): {
  jsonrpc: "2.0";
  method: string;
  params: Record<string, unknown>;
} {
  const params = { notifications: {}, _meta: { [subscriptionIdKey]: subscription } };
  return { jsonrpc: "2.0", method: acknowledgedMethod, params };
}

/** The params of the acknowledgement of a subscription, with the tasks that are listened to. */
export function acknowledgedTasks(params: JsonObject, taskIds: readonly string[]): JsonObject {
  const others = isJsonObject(params["notifications"]) ? params["notifications"] : {};
  return { ...params, notifications: { ...others, taskIds } };
}

/** The subscription that a message belongs to, if it names one. */
export function subscriptionOf(params: unknown): SubscriptionId | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const id = isJsonObject(meta) ? meta[subscriptionIdKey] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** A task as it is pushed: what `tasks/get` would answer now, without `resultType`. */
export function taskNotification(
  task: DetailedTask,
  subscription: SubscriptionId,
): { jsonrpc: "2.0"; method: string; params: Record<string, unknown> } {
  const params = withMeta({ ...task }, { [subscriptionIdKey]: subscription });
  return { jsonrpc: "2.0", method: "notifications/tasks", params };
}

/** The answer to a listen request that the server ends by itself (X-B-015, A-33), with more in `_meta`. */
export function listenEnd(
  subscription: SubscriptionId,
  meta: JsonObject = {},
): {
  jsonrpc: "2.0";
  id: SubscriptionId;
  result: Record<string, unknown>;
} {
  const result = { resultType: "complete", _meta: { [subscriptionIdKey]: subscription, ...meta } };
  return { jsonrpc: "2.0", id: subscription, result };
}
