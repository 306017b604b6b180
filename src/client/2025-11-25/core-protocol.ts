import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import { generation } from "../../generation/2025-11-25/name.ts";
import { serverCancels, serverLists, serverTakesTasks } from "../../generation/2025-11-25/negotiate.ts";
import { relatedTaskOf } from "../../generation/2025-11-25/related-task.ts";
import { idempotencyKeyMeta, readKeptMs, repeatMeta } from "../../generation/idempotency-key.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import type { InputResult } from "../question/input-request.ts";
import { readReply, Violation, type Reply } from "../reply/reply.ts";
import { listParams, readTaskPage } from "../session/read-task-page.ts";
import { readToolResult } from "../session/read-tool-result.ts";
import { Recent } from "../session/recent.ts";
import type { TaskSessions } from "../session/task-sessions.ts";
import { withoutQuestions } from "../session/task-room.ts";
import { TaskRooms } from "../session/task-rooms.ts";
import { isUnknown } from "../task/poll-loop.ts";
import type { TaskPage, TaskSummary } from "../task/listed-task.ts";
import { hasEnded, type RemoteTask } from "../task/remote-task.ts";
import type { CallAnswer, TaskAttendant, TaskProtocol, ToolCall } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestInTime } from "../transport/request-in-time.ts";
import { CoreRoom } from "./core-room.ts";
import { readAbout, readCallAnswer, readTask, type SeenTask } from "./read-task.ts";
import { TaskSupport } from "./task-support.ts";

interface CoreProtocolOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** What the server declared. */
  readonly server: JsonObject;
  readonly sessions: TaskSessions;
}

/** The tasks in the core of protocol 2025-11-25; with servers that have none, plain calls. */
export class CoreProtocol implements TaskProtocol {
  readonly generation = generation;
  /** A question is a request of its own, whose id lives as long as its stream; only some servers name it. */
  readonly keepsQuestionKeys = false;
  readonly recognisesRepeats: boolean;
  readonly #keptMs: number;
  readonly #services: Pick<CoreProtocolOptions, "requester" | "clock">;
  readonly #hasTasks: boolean;
  readonly #cancels: boolean;
  readonly #lists: boolean;
  readonly #support: TaskSupport;
  readonly #rooms: TaskRooms<CoreRoom>;
  readonly #sessions: TaskSessions;
  /**
   * Tasks that this client knows as cancelled: their server may have dropped them since (C-082, C-083). Who asks for one
   * that was cancelled longer ago is told what the server says.
   */
  readonly #cancelled = new Recent<RemoteTask>(1_000);

  constructor({ requester, clock, callbacks, server, sessions }: CoreProtocolOptions) {
    this.#services = { requester, clock };
    this.#sessions = sessions;
    this.#hasTasks = serverTakesTasks(server); // C-008, C-014
    this.#cancels = serverCancels(server);
    this.#lists = serverLists(server);
    const { experimental } = server;
    const recognition = isJsonObject(experimental) ? experimental[idempotencyKeyMeta] : undefined;
    this.recognisesRepeats = isJsonObject(recognition);
    this.#keptMs = readKeptMs(recognition);
    this.#support = new TaskSupport(async (params, signal) => this.#request("tools/list", params, signal));
    const makeRoom = (taskId: string): CoreRoom => new CoreRoom(taskId, requester, sessions);
    this.#rooms = new TaskRooms({ requester, callbacks, relatedTaskOf, makeRoom });
    requester.takers.onNotification((notification) => this.#notified(notification));
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
    // Refused before it began; if the tool is listed otherwise by now, then for that.
    this.#support.changed();
    const now = await this.#support.of(call.name, signal);
    if (now.kind !== "value" || now.value === support.value) return reply;
    return this.#send(call, now.value === "task", signal);
  }

  async get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const seen = readReply(await this.#about("tasks/get", taskId, signal), (answer) =>
      readAbout(answer, taskId),
    );
    const cancelled = this.#cancelled.get(taskId);
    if (isUnknown(seen) && cancelled !== undefined) return { kind: "value", value: cancelled };
    if (seen.kind !== "value") return seen;
    const { value, retryAfterMs } = seen;
    switch (value.status) {
      case "completed":
      case "failed":
        return this.#ended({ ...value, status: value.status }, signal);
      case "cancelled":
        return { kind: "value", value: this.#wasCancelled(value) };
      case "working":
      case "input_required": {
        const seenOn = { ...value, status: value.status };
        const task = this.#rooms.get(taskId)?.goesOn(seenOn);
        return { kind: "value", value: task ?? withoutQuestions(seenOn), retryAfterMs };
      }
    }
  }

  async answer(
    taskId: string,
    key: string,
    result: InputResult,
    signal: AbortSignal,
  ): Promise<Reply<undefined>> {
    const room = this.#rooms.get(taskId);
    return room === undefined ? done : room.askings.answer(key, result, signal);
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
      if (reply.value.status === "cancelled") this.#wasCancelled(reply.value);
      this.#rooms.get(taskId)?.told(reply.value);
      return done;
    }
    if (!isUnknown(reply)) return reply;
    // The same code for a task that has ended (C-078), where there is nothing left to cancel.
    const now = await this.get(taskId, signal);
    return now.kind === "value" && hasEnded(now.value) ? done : reply;
  }

  async list(cursor: string | undefined, signal: AbortSignal): Promise<Reply<TaskPage<TaskSummary>>> {
    if (!this.#lists) {
      const message = "The server does not list tasks.";
      return { kind: "error", error: { code: -32601, message } }; // C-010
    }
    const reply = await this.#request("tasks/list", listParams(cursor), signal);
    return readReply(reply, (answer) => readTaskPage(answer, readTask));
  }

  attend(taskId: string, attendant: TaskAttendant, known: RemoteTask | undefined): () => void {
    return this.#rooms.enter(taskId, attendant, known);
  }

  /** What a server says by itself may interest the host too. */
  #notified({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/tools/list_changed") this.#support.changed();
    if (method === "notifications/tasks/status" && isJsonObject(params)) {
      const seen = readTask(params);
      // One that cannot be read is left to the next poll, which says what is wrong with it.
      if (!(seen instanceof Violation)) this.#rooms.get(seen.taskId)?.told(seen);
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
        [idempotencyKeyMeta]: idempotencyKey,
        ...(repeat && { [repeatMeta]: true }),
      },
    };
    // What became a task is cancelled as one, not as the request that it came of (C-084).
    const late = (reply: Reply<JsonObject>): void => {
      const answer = readReply(reply, readCallAnswer);
      if (answer.kind !== "value" || answer.value.kind !== "task") return;
      if (findsAgain) return onLateTask?.(answer.value.taskId);
      if (!this.#cancels) return;
      const { over } = this.#services.requester;
      this.cancel(answer.value.taskId, over).catch(() => undefined);
    };
    const { requester } = this.#services;
    return readReply(
      await requester.request("tools/call", params, signal, asTask ? { late } : {}),
      readCallAnswer,
    );
  }

  /** With what it ended as, which `tasks/get` does not tell; a result that is an error is a result (C-062, A-09). */
  async #ended(seen: Ended, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const { taskId } = seen;
    const early = this.#rooms.get(taskId)?.result;
    const reply: Reply<JsonObject> =
      early === undefined
        ? await this.#about("tasks/result", taskId, signal)
        : { kind: "value", value: early };
    // Only a task that failed has an error for its outcome (C-061).
    if (reply.kind === "error" && seen.status === "failed") {
      this.#rooms.over(taskId);
      return { kind: "value", value: { ...seen, status: "failed", error: reply.error } };
    }
    return readReply(reply, (answer) => {
      const result = readToolResult(answer);
      if (result instanceof Violation) return result;
      this.#rooms.over(taskId);
      return { ...seen, status: "completed", result };
    });
  }

  #wasCancelled(seen: SeenTask): RemoteTask {
    const task = { ...seen, status: "cancelled" as const };
    this.#cancelled.set(seen.taskId, task);
    this.#rooms.over(seen.taskId);
    return task;
  }

  /** No request about a task relates to it in `_meta` as well (C-101). */
  async #about(method: string, taskId: string, signal: AbortSignal): Promise<Reply<JsonObject>> {
    const send = async (): Promise<Reply<JsonObject>> =>
      requestInTime(this.#services, method, { taskId }, signal, this.#sessions.of(taskId));
    const wasElsewhere = this.#sessions.of(taskId).headers !== undefined;
    const reply = await send();
    const isAnswered = reply.kind === "value" || reply.kind === "lost" || method === "tasks/result";
    if (wasElsewhere && !isAnswered) {
      // The session may be gone; an error of tasks/result is the task's own.
      this.#sessions.forget(taskId);
      return this.#about(method, taskId, signal);
    }
    if (!isUnknown(reply) || !(await this.#sessions.find(taskId))) return reply;
    const there = await send();
    if (there.kind === "value" || there.kind === "lost") return there;
    this.#sessions.forget(taskId);
    return reply;
  }

  async #request(method: string, params: JsonObject, signal: AbortSignal): Promise<Reply<JsonObject>> {
    return requestInTime(this.#services, method, params, signal);
  }
}

type Ended = SeenTask & { readonly status: "completed" | "failed" };

const done: Reply<undefined> = { kind: "value", value: undefined };
