import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { withMeta } from "../meta.ts";
import { resourceUpdated, taskResourceAt, type TaskResource } from "../task-lines.ts";
import type { DetailedTask } from "./project.ts";

export const listenMethod = "subscriptions/listen";
export const acknowledgedMethod = "notifications/subscriptions/acknowledged";

/** Every message of a subscription says which one it belongs to (X-B-013). */
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/** As many ids as one request may name where the server says nothing else. */
export const maxTaskIds = 1_000;

/** The JSON-RPC id of the listen request. */
export type SubscriptionId = string | number;

/** A listen request that asks for tasks, or for their logs and outputs, taken apart. */
export interface TaskListening {
  /** As they were sent; undefined where it asks for no tasks. */
  readonly taskIds: unknown;
  /** The logs and outputs among the resources that it names, each once. */
  readonly resources: readonly TaskResource[];
  /** The params without all of these: what everybody else is asked for. */
  readonly others: JsonObject;
}

/** What of it is listened to. */
export interface AcceptedListening {
  /** Undefined where none were asked for. */
  readonly taskIds: readonly string[] | undefined;
  /** The URIs of logs and outputs. */
  readonly uris: readonly string[];
}

/** What `params` asks of us, or undefined where they name no tasks at all. */
export function taskListening(params: unknown): TaskListening | undefined {
  const notifications = isJsonObject(params) ? params["notifications"] : undefined;
  if (!isJsonObject(params) || !isJsonObject(notifications)) return undefined;
  const { taskIds, resourceSubscriptions, ...rest } = notifications;
  const named: readonly unknown[] = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : [];
  const resources = [...new Set(named)].flatMap((uri) => taskResourceAt(uri) ?? []);
  if (taskIds === undefined && resources.length === 0) return undefined;
  const otherUris = named.filter((uri) => taskResourceAt(uri) === undefined);
  const left = resources.length === 0 ? resourceSubscriptions : otherUris.length > 0 ? otherUris : undefined;
  const others = { ...rest, ...(left !== undefined && { resourceSubscriptions: left }) };
  return { taskIds, resources, others: { ...params, notifications: others } };
}

/**
 * The ids, each once, of a request that names so many resources of ours beside them; throws `invalid_params` for what is no list of
 * ids, and for more than `most` of both.
 */
export function readTaskIds(taskIds: unknown, resources = 0, most = maxTaskIds): readonly string[] {
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
    throw new HoldfastError("invalid_params", "notifications.taskIds has to be a list of strings.");
  }
  if (taskIds.length + resources > most) {
    const named =
      resources === 0
        ? `notifications.taskIds has more than ${most} ids.`
        : `notifications name more than ${most} tasks, logs and outputs.`;
    throw new HoldfastError("invalid_params", named);
  }
  return [...new Set<string>(taskIds)];
}

/** Whether a listen request asks for tasks, or what is of them, and for nothing else. */
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

/** The params of the acknowledgement of a subscription, with the tasks, logs and outputs that are listened to. */
export function acknowledgedTasks(params: JsonObject, { taskIds, uris }: AcceptedListening): JsonObject {
  const others = isJsonObject(params["notifications"]) ? params["notifications"] : {};
  const own: unknown = others["resourceSubscriptions"];
  const resourceSubscriptions = [...(Array.isArray(own) ? (own as unknown[]) : []), ...uris];
  const notifications = {
    ...others,
    ...(resourceSubscriptions.length > 0 && { resourceSubscriptions }),
    ...(taskIds !== undefined && { taskIds }),
  };
  return { ...params, notifications };
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

/** What is pushed of a log or an output: that there is more to read of it. */
export function linesNotification(
  uri: string,
  subscription: SubscriptionId,
): { jsonrpc: "2.0"; method: string; params: Record<string, unknown> } {
  return {
    jsonrpc: "2.0",
    method: resourceUpdated,
    params: withMeta({ uri }, { [subscriptionIdKey]: subscription }),
  };
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
