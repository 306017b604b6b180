import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import { acknowledgedMethod, listenMethod, subscriptionOf } from "../../generation/2026-07-28/listen.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import { rateLimitAsLost } from "../reply/retry.ts";
import { Violation, type Reply } from "../reply/reply.ts";
import type { ListenEnd, TaskListener } from "../task-protocol.ts";
import type { NotificationMatch } from "../transport/pending-requests.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { readTask } from "./read-answers.ts";

/** How long the server may take to acknowledge. The stream itself has no time limit. */
const acknowledgementMs = 30_000;

interface ListenServices {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** The `_meta` of every request. */
  readonly meta: JsonObject;
}

/** Listens to tasks by `subscriptions/listen`, until the server or the signal ends it. */
export async function listenToTasks(
  { requester, clock, meta }: ListenServices,
  taskIds: readonly string[],
  listener: TaskListener,
  signal: AbortSignal,
): Promise<ListenEnd> {
  const useless = new AbortController();
  const deadline = clock.deadline(acknowledgementMs);
  const matchNotification = (notification: JSONRPCNotification, id: string): NotificationMatch => {
    const { method, params } = notification;
    // A server ends the stream by answering the request, or by cancelling it.
    if (method === "notifications/cancelled" && params?.["requestId"] === id) return "end";
    if (subscriptionOf(params) !== id) return "other";
    if (method === acknowledgedMethod) {
      deadline.clear();
      const accepted = readAccepted(params);
      if (accepted === undefined) useless.abort(new Error("The server does not push tasks"));
      else listener.onOpen(accepted);
    } else if (method === "notifications/tasks" && isJsonObject(params)) {
      const task = readTask(params);
      // Invalid ones are ignored; the next poll reports the error.
      if (!(task instanceof Violation)) listener.onTask(task);
    }
    return "mine";
  };
  try {
    const either = AbortSignal.any([signal, deadline.signal, useless.signal]);
    const params = { notifications: { taskIds }, _meta: meta };
    // A server with too many streams of this client says when to try again.
    return endOf(
      rateLimitAsLost(await requester.request(listenMethod, params, either, { matchNotification })),
    );
  } catch (error) {
    if (signal.aborted) throw error;
    if (useless.signal.aborted) return { kind: "refused" };
    if (deadline.signal.aborted) return { kind: "over", retryAfterMs: undefined };
    throw error;
  } finally {
    deadline.clear();
  }
}

/** The tasks that the acknowledgement accepts; undefined if the server pushes no tasks. */
function readAccepted(params: unknown): readonly string[] | undefined {
  const notifications = isJsonObject(params) ? params["notifications"] : undefined;
  const taskIds = isJsonObject(notifications) ? notifications["taskIds"] : undefined;
  return Array.isArray(taskIds) ? taskIds.filter((id) => typeof id === "string") : undefined;
}

function endOf(reply: Reply<unknown>): ListenEnd {
  const over = { kind: "over", retryAfterMs: undefined } as const;
  switch (reply.kind) {
    case "value":
      return over;
    case "lost":
      return { ...over, retryAfterMs: reply.retryAfterMs };
    case "error": // -32603: the server is full, or about to stop
      return reply.error.code === -32603 ? over : { kind: "refused" };
    case "bad": // another token may be accepted later
      return reply.code === "unauthorized" ? over : { kind: "refused" };
  }
}
