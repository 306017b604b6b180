import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import {
  generation,
  serverCancels,
  serverLists,
  serverTakesTasks,
  relatedTaskOf,
} from "../../generation/2025-11-25.ts";
import { idempotencyMeta, readKeptMs } from "../../generation/extensions.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { ClientClock } from "../clock.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import { isUnknown, readReply, Violation, type Reply } from "../reply/reply.ts";
import { readToolResult } from "../reply/read-members.ts";
import { requestTaskPage } from "../session/request-task-page.ts";
import { followerOf } from "../session/followed-lines.ts";
import { BoundedMap } from "../session/bounded-map.ts";
import type { TaskSessions } from "../session/task-sessions.ts";
import { TaskInboxes } from "../session/task-inbox.ts";
import type { TaskPage, TaskSummary } from "../task/listed-task.ts";
import { hasEnded, type RemoteTask } from "../task/remote-task.ts";
import type { CallAnswer, TaskProtocol, ToolCall } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";
import { CoreTaskInbox } from "./core-task-inbox.ts";
import { readAbout, readCallAnswer, readTask, type ReportedTask } from "./read-task.ts";
import { TaskSupport } from "./task-support.ts";

interface CoreProtocolOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** The server's capabilities. */
  readonly server: JsonObject;
  readonly sessions: TaskSessions;
}

/** The tasks in the core of protocol 2025-11-25. Servers without tasks get plain calls. */
export class CoreProtocol implements TaskProtocol {
  readonly generation = generation;
  /** A question is a request of its own, whose id is valid only for its stream; only some servers give keys. */
  readonly keepsQuestionKeys = false;
  readonly recognisesRepeats: boolean;
  readonly #keptMs: number;
  readonly #services: Pick<CoreProtocolOptions, "requester" | "clock">;
  readonly #hasTasks: boolean;
  readonly #cancels: boolean;
  readonly #lists: boolean;
  readonly #support: TaskSupport;
  readonly #inboxes: TaskInboxes<CoreTaskInbox>;
  readonly #sessions: TaskSessions;
  /** Tasks that this client knows as cancelled, since their server may have deleted them (C-082, C-083). */
  readonly #cancelled = new BoundedMap<RemoteTask>(1_000);

  readonly answer: TaskProtocol["answer"];
  readonly observe: NonNullable<TaskProtocol["observe"]>;
  readonly followLines: TaskProtocol["followLines"];

  constructor({ requester, clock, callbacks, server, sessions }: CoreProtocolOptions) {
    this.#services = { requester, clock };
    this.followLines = followerOf(this.#services, server);
    this.#sessions = sessions;
    this.#hasTasks = serverTakesTasks(server); // C-008, C-014
    this.#cancels = serverCancels(server);
    this.#lists = serverLists(server);
    const keptMs = readKeptMs(server, "experimental");
    this.recognisesRepeats = keptMs !== undefined;
    this.#keptMs = keptMs ?? 0;
    this.#support = new TaskSupport(async (params, signal) => this.#request("tools/list", params, signal));
    const makeInbox = (taskId: string): CoreTaskInbox => new CoreTaskInbox(taskId, requester, sessions);
    this.#inboxes = new TaskInboxes({ requester, callbacks, relatedTaskOf, makeInbox });
    this.answer = this.#inboxes.answer;
    this.observe = this.#inboxes.observe;
    requester.handlers.onNotification((notification) => this.#onNotification(notification));
  }

  recognisedMs(ttlMs = Infinity): number {
    return Math.min(this.#keptMs, ttlMs);
  }

  async call(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>> {
    if (!this.#hasTasks) return this.#send(call, false, signal);
    const support = await this.#support.of(call.name, signal);
    if (support.kind !== "value") return support;
    const reply = await this.#send(call, support.value === "task", signal);
    if (reply.kind !== "error" || reply.error.code !== -32601) return reply;
    // The server refused the call. Send it again if the tool's task support has changed.
    this.#support.changed();
    const now = await this.#support.of(call.name, signal);
    if (now.kind !== "value" || now.value === support.value) return reply;
    return this.#send(call, now.value === "task", signal);
  }

  async get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const reported = readReply(await this.#about("tasks/get", taskId, signal), (answer) =>
      readAbout(answer, taskId),
    );
    const cancelled = this.#cancelled.get(taskId);
    if (isUnknown(reported) && cancelled !== undefined) return { kind: "value", value: cancelled };
    if (reported.kind !== "value") return reported;
    const { value, retryAfterMs } = reported;
    switch (value.status) {
      case "completed":
      case "failed":
        return this.#fetchOutcome({ ...value, status: value.status }, signal);
      case "cancelled":
        return { kind: "value", value: this.#markCancelled(value) };
      case "working":
      case "input_required": {
        const active = { ...value, status: value.status };
        return { kind: "value", value: this.#inboxes.withQuestions(active), retryAfterMs };
      }
    }
  }

  async cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    if (!this.#cancels) {
      const message = "The server has tasks but cannot cancel them.";
      return { kind: "error", error: { code: -32601, message } }; // C-011
    }
    const reply = readReply(await this.#about("tasks/cancel", taskId, signal), (answer) =>
      readAbout(answer, taskId),
    );
    if (reply.kind === "value") {
      if (reply.value.status === "cancelled") this.#markCancelled(reply.value);
      this.#inboxes.get(taskId)?.onStatus(reply.value);
      return done;
    }
    if (!isUnknown(reply)) return reply;
    // The server uses the same code for a task that has ended (C-078); that is no error here.
    const now = await this.get(taskId, signal);
    return now.kind === "value" && hasEnded(now.value) ? done : reply;
  }

  async list(cursor: string | undefined, signal: AbortSignal): Promise<Reply<TaskPage<TaskSummary>>> {
    if (!this.#lists) {
      const message = "The server does not list tasks.";
      return { kind: "error", error: { code: -32601, message } }; // C-010
    }
    return requestTaskPage(this.#services, cursor, readTask, signal);
  }

  /** Returns false: the host's handlers get the notification too. */
  #onNotification({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/tools/list_changed") this.#support.changed();
    if (method === "notifications/tasks/status" && isJsonObject(params)) {
      const reported = readTask(params);
      // Invalid ones are ignored; the next poll reports the error.
      if (!(reported instanceof Violation)) this.#inboxes.get(reported.taskId)?.onStatus(reported);
    }
    return false;
  }

  async #send(call: ToolCall, asTask: boolean, signal: AbortSignal): Promise<Reply<CallAnswer>> {
    const { name, args, idempotencyKey, repeat, progressToken, ttlMs, findsAgain, onLateTask } = call;
    const params = {
      name,
      arguments: args,
      ...(asTask && { task: ttlMs === undefined ? {} : { ttl: ttlMs } }),
      _meta: {
        ...(progressToken !== undefined && { progressToken }),
        ...idempotencyMeta(idempotencyKey, repeat),
      },
    };
    // A task is cancelled by `tasks/cancel`, not by cancelling its request (C-084).
    const onLateReply = (reply: Reply<JsonObject>): void => {
      const answer = readReply(reply, readCallAnswer);
      if (answer.kind !== "value" || answer.value.kind !== "task") return;
      if (findsAgain) return onLateTask?.(answer.value.taskId);
      if (!this.#cancels) return;
      const { closed } = this.#services.requester;
      this.cancel(answer.value.taskId, closed).catch(() => undefined);
    };
    const { requester } = this.#services;
    return readReply(
      await requester.request(
        "tools/call",
        params,
        signal,
        asTask ? { afterAbort: { kind: "goes_on", onReply: onLateReply } } : {},
      ),
      readCallAnswer,
    );
  }

  /** Adds the outcome, which `tasks/get` does not include. A result with `isError` is a result (C-062, A-09). */
  async #fetchOutcome(reported: Ended, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const { taskId } = reported;
    const heldResult = this.#inboxes.get(taskId)?.result;
    const reply: Reply<JsonObject> =
      heldResult === undefined
        ? await this.#about("tasks/result", taskId, signal)
        : { kind: "value", value: heldResult };
    // Only a failed task has an error as its outcome (C-061).
    if (reply.kind === "error" && reported.status === "failed") {
      this.#inboxes.taskEnded(taskId);
      return { kind: "value", value: { ...reported, status: "failed", error: reply.error } };
    }
    return readReply(reply, (answer) => {
      const result = readToolResult(answer);
      if (result instanceof Violation) return result;
      this.#inboxes.taskEnded(taskId);
      return { ...reported, status: "completed", result };
    });
  }

  #markCancelled(reported: ReportedTask): RemoteTask {
    const task = { ...reported, status: "cancelled" as const };
    this.#cancelled.set(reported.taskId, task);
    this.#inboxes.taskEnded(reported.taskId);
    return task;
  }

  /** Sends a request about a task. It has no related-task in `_meta` (C-101). */
  async #about(method: string, taskId: string, signal: AbortSignal): Promise<Reply<JsonObject>> {
    return this.#sessions.ask(
      taskId,
      async (options) => requestWithTimeout(this.#services, method, { taskId }, signal, options),
      { mayFail: method === "tasks/result" },
    );
  }

  async #request(method: string, params: JsonObject, signal: AbortSignal): Promise<Reply<JsonObject>> {
    return requestWithTimeout(this.#services, method, params, signal);
  }
}

type Ended = ReportedTask & { readonly status: "completed" | "failed" };

const done: Reply<undefined> = { kind: "value", value: undefined };
