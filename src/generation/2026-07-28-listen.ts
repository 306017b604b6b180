import { HoldfastError } from "../task/fault.ts";
import { isJsonObject, type JsonObject, withMeta } from "./message.ts";
import { resourceUpdated, taskResourceAt, type TaskResource } from "./extensions.ts";
import type { DetailedTask } from "./2026-07-28.ts";

export const listenMethod = "subscriptions/listen";

export const acknowledgedMethod = "notifications/subscriptions/acknowledged";

/** Every message of a subscription names the subscription (X-B-013). */
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId";

/** The default maximum number of ids in one request. */
export const maxTaskIds = 1_000;

/** The JSON-RPC id of the listen request. */
export type SubscriptionId = string | number;

/** A parsed listen request for tasks, or for their logs and outputs. */
export interface TaskListening {
  /** As sent; undefined if it asks for no tasks. */
  readonly taskIds: unknown;
  /** The logs and outputs among its resources, each once. */
  readonly resources: readonly TaskResource[];
  /** The params without these: what the rest of the server handles. */
  readonly others: JsonObject;
}

/** The accepted parts of a listen request. */
export interface AcceptedListening {
  /** Undefined if the request asked for none. */
  readonly taskIds: readonly string[] | undefined;
  /** The URIs of logs and outputs. */
  readonly uris: readonly string[];
}

/** The parts of `params` about tasks; undefined if there are none. */
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
 * The ids of a request, each once. `resources` is how many resources of ours it names as well. Throws `invalid_params` if this is no list
 * of ids, or if there are more than `most` of both.
 */
export function readTaskIds(taskIds: unknown, resources = 0, most = maxTaskIds): readonly string[] {
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
    throw new HoldfastError("invalid_params", "notifications.taskIds must be a list of strings.");
  }
  if (taskIds.length + resources > most) {
    const named =
      resources === 0
        ? `notifications.taskIds has more than ${most} ids.`
        : `notifications lists more than ${most} tasks, logs and outputs.`;
    throw new HoldfastError("invalid_params", named);
  }
  return [...new Set<string>(taskIds)];
}

/** Whether a listen request asks only for tasks, or their logs and outputs. */
export function listensToTasksOnly({ params }: { readonly params: JsonObject }): boolean {
  const { notifications } = taskListening(params)?.others ?? {};
  return isJsonObject(notifications) && Object.keys(notifications).length === 0;
}

/** The acknowledgement of a subscription to nothing yet. */
export function listenBegin(subscription: SubscriptionId): {
  jsonrpc: "2.0";
  method: string;
  params: Record<string, unknown>;
} {
  const params = { notifications: {}, _meta: { [subscriptionIdKey]: subscription } };
  return { jsonrpc: "2.0", method: acknowledgedMethod, params };
}

/** The acknowledgement's params, with the accepted tasks, logs and outputs. */
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

/** The params or the result of a message, for the subscription `now` if they are of `before`. */
export function resubscribed(part: JsonObject, before: unknown, now: unknown): JsonObject {
  return subscriptionOf(part) === before ? withMeta(part, { [subscriptionIdKey]: now }) : part;
}

export const taskNotificationMethod = "notifications/tasks";

/** A pushed task: what `tasks/get` would answer now, without `resultType`. */
export function taskNotification(
  task: DetailedTask,
  subscription: SubscriptionId,
): { jsonrpc: "2.0"; method: string; params: Record<string, unknown> } {
  const params = withMeta({ ...task }, { [subscriptionIdKey]: subscription });
  return { jsonrpc: "2.0", method: taskNotificationMethod, params };
}

/** The notification for a log or an output: there is more to read. */
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

/** The answer to a listen request that the server ends itself (X-B-015, A-33), with more in `_meta`. */
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
