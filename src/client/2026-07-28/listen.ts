import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import { acknowledgedMethod, listenMethod, subscriptionOf } from "../../generation/2026-07-28-listen.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { resourceUpdated } from "../../generation/extensions.ts";
import type { ClientClock } from "../clock.ts";
import { rateLimitAsLost } from "../reply/retry.ts";
import { readReply, Violation, type Reply } from "../reply/reply.ts";
import type { LineListener, ListenEnd, TaskListener } from "../task-protocol.ts";
import { retryDelay } from "../task/poll-delays.ts";
import type { NotificationMatch } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { readAcknowledgement, readTask } from "./read-answers.ts";

/** How long the server may take to acknowledge. The stream itself has no time limit. */
const acknowledgementMs = 30_000;
/** The end of a stream that was open this long is not a failure. */
const steadyMs = 10_000;

interface ListenServices {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** The `_meta` of every request. */
  readonly meta: JsonObject;
}

interface Listener {
  /** Called with what the server accepted. False ends the stream: nothing that was asked for. */
  readonly onOpen: (notifications: JsonObject) => boolean;
  readonly onPush: (method: string, params: JsonObject) => void;
}

/** Listens to tasks by `subscriptions/listen`, until the server or the signal ends it. */
export async function listenToTasks(
  services: ListenServices,
  taskIds: readonly string[],
  listener: TaskListener,
  signal: AbortSignal,
): Promise<ListenEnd> {
  const onOpen: Listener["onOpen"] = (notifications) => {
    const accepted = notifications["taskIds"];
    if (!Array.isArray(accepted)) return false;
    listener.onOpen(accepted.filter((id) => typeof id === "string"));
    return true;
  };
  const onPush: Listener["onPush"] = (method, params) => {
    const task = method === "notifications/tasks" ? readTask(params) : undefined;
    // Invalid ones are ignored; the next poll reports the error.
    if (task !== undefined && !(task instanceof Violation)) listener.onTask(task);
  };
  return listen(services, { taskIds }, { onOpen, onPush }, signal);
}

/** Follows a log or an output on its own stream, which is opened again if it breaks; see `TaskProtocol.followLines`. */
export async function followLines(
  services: ListenServices,
  uri: string,
  listener: LineListener,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = services;
  const onOpen: Listener["onOpen"] = ({ resourceSubscriptions: accepted }) => {
    const isAccepted = Array.isArray(accepted) && accepted.includes(uri);
    if (isAccepted) listener.onLive(true);
    return isAccepted;
  };
  const onPush: Listener["onPush"] = (method, params) => {
    if (method === resourceUpdated && params["uri"] === uri) listener.onGrown();
  };
  const asked = { resourceSubscriptions: [uri] };
  try {
    for (let failures = 0; ;) {
      const startedAt = clock.elapsed();
      const end = await listen(services, asked, { onOpen, onPush }, signal);
      if (end.kind === "refused") return;
      listener.onLive(false);
      failures = clock.elapsed() - startedAt >= steadyMs ? 1 : failures + 1;
      await clock.sleep(retryDelay(failures, clock.random(), end.retryAfterMs), signal);
    }
  } finally {
    listener.onLive(false);
  }
}

async function listen(
  { requester, clock, meta }: ListenServices,
  notifications: JsonObject,
  { onOpen, onPush }: Listener,
  signal: AbortSignal,
): Promise<ListenEnd> {
  const useless = new AbortController();
  const deadline = clock.deadline(acknowledgementMs);
  const matchNotification = (notification: JSONRPCNotification, id: string): NotificationMatch => {
    const { method, params } = notification;
    // A server ends the stream by answering the request, or by cancelling it.
    if (method === "notifications/cancelled" && params?.["requestId"] === id) return "end";
    if (subscriptionOf(params) !== id || !isJsonObject(params)) return "other";
    if (method === acknowledgedMethod) {
      deadline.clear();
      const accepted = params["notifications"];
      if (!onOpen(isJsonObject(accepted) ? accepted : {}))
        useless.abort(new Error("The server accepted none of the requested subscriptions"));
    } else onPush(method, params);
    return "mine";
  };
  try {
    const either = AbortSignal.any([signal, deadline.signal, useless.signal]);
    const params = { notifications, _meta: meta };
    // A server with too many streams of this client says when to try again.
    const reply = await requester.request(listenMethod, params, either, { matchNotification });
    return endOf(rateLimitAsLost(readReply(reply, readAcknowledgement)));
  } catch (error) {
    if (signal.aborted) throw error;
    if (useless.signal.aborted) return { kind: "refused" };
    if (deadline.signal.aborted) return { kind: "over", retryAfterMs: undefined };
    throw error;
  } finally {
    deadline.clear();
  }
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
