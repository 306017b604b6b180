import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import {
  generation,
  serverCancels,
  serverLists,
  serverTakesTasks,
  relatedTaskOf,
  withRelatedTask,
  immediateResponseOf,
  type WireStatus,
} from "../../generation/2025-11-25.ts";
import { idempotencyMeta, readKeptMs } from "../../generation/extensions.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { ClientClock } from "../clock.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import {
  directAnswer,
  isUnknown,
  readReply,
  readTaskId,
  readTaskMembers,
  readToolResult,
  type Reply,
  type TaskMembers,
  unknownStatus,
  Violation,
  violationOfId,
} from "../reply/reply.ts";
import { requestTaskPage, type TaskSessions } from "../session/task-sessions.ts";
import { followerOf } from "../session/followed-lines.ts";
import { BoundedMap } from "../session/bounded-map.ts";
import { TaskInboxes, TaskInbox, type ActiveTask } from "../session/task-inbox.ts";
import { hasEnded, type RemoteTask, type TaskPage, type TaskSummary } from "../task/remote-task.ts";
import type { CallAnswer, TaskProtocol, ToolCall, TaskObserver } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";
import { TaskSupport } from "./task-support.ts";
import { PendingQuestions } from "../session/pending-questions.ts";

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
    const { name, args, idempotencyKey, repeat, progressToken, ttlMs, onLate } = call;
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
    const onReply = (reply: Reply<JsonObject>): unknown => {
      const answer = readReply(reply, readCallAnswer);
      return answer.kind === "value" ? onLate?.(answer.value) : undefined;
    };
    const { requester } = this.#services;
    return readReply(
      await requester.request(
        "tools/call",
        params,
        signal,
        asTask ? { afterAbort: { kind: "goes_on", onReply } } : {},
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

/**
 * The inbox of a task of 2025-11-25: takes status notifications, and holds `tasks/result` open while the task waits
 * for input.
 */
export class CoreTaskInbox extends TaskInbox {
  readonly #heldResult: HeldResult;

  constructor(taskId: string, requester: RawRequester, sessions: TaskSessions) {
    super(new PendingQuestions(taskId, requester, withRelatedTask, () => sessions.of(taskId)));
    this.#heldResult = new HeldResult(taskId, requester, sessions);
  }

  /** A result that arrived before a poll showed the end. */
  get result(): HeldResult["result"] {
    return this.#heldResult.result;
  }

  override removeObserver(observer: TaskObserver): void {
    super.removeObserver(observer);
    if (!this.isObserved) this.#heldResult.cancel();
  }

  override update(reported: ActiveTask): RemoteTask {
    const task = super.update(reported);
    if (reported.status === "input_required" && this.isObserved)
      this.#heldResult.start(() => this.requestPoll());
    return task;
  }

  /** Handles a status notification. */
  onStatus(reported: ReportedTask): void {
    switch (reported.status) {
      case "working":
      case "input_required":
        return this.publish(this.update({ ...reported, status: reported.status }));
      case "cancelled":
        return this.publish({ ...reported, status: "cancelled" });
      case "completed":
      case "failed": // a poll fetches the outcome
        return this.requestPoll();
    }
  }
}

/**
 * A long poll by `tasks/result`, held open while a task waits for input and a caller waits for the task: the server
 * can send its questions on this stream (C-093). Polling continues (C-052); after a break the next poll starts it
 * again (C-064).
 */
export class HeldResult {
  readonly #taskId: string;
  readonly #requester: RawRequester;
  readonly #sessions: TaskSessions;
  #held: AbortController | undefined;
  #result: JsonObject | undefined;

  constructor(taskId: string, requester: RawRequester, sessions: TaskSessions) {
    this.#taskId = taskId;
    this.#requester = requester;
    this.#sessions = sessions;
  }

  /** The answer. Use it only after a poll has shown that the task ended. */
  get result(): JsonObject | undefined {
    return this.#result;
  }

  /** Sends the request, unless it is open or answered. Calls `onResult` for a result; errors are left to polls. */
  start(onResult: () => void): void {
    if (this.#held !== undefined || this.#result !== undefined) return;
    const held = new AbortController();
    this.#held = held;
    const taskId = this.#taskId;
    const inSession = this.#sessions.of(taskId);
    this.#requester.request("tasks/result", { taskId }, held.signal, inSession).then(
      (reply) => {
        this.#held = undefined;
        if (reply.kind !== "value") return;
        this.#result = reply.value;
        onResult();
      },
      () => {
        if (this.#held === held) this.#held = undefined;
      },
    );
  }

  /** Aborts the request, without effect on the task (C-053). */
  cancel(): void {
    this.#held?.abort(new Error("No caller is waiting for the task"));
    this.#held = undefined;
  }
}

/** A task as the server reports it, without its result and its questions. */
export interface ReportedTask extends TaskMembers {
  readonly status: WireStatus;
}

const statuses: ReadonlySet<unknown> = new Set<WireStatus>([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
]);

/**
 * Reads a task from most answers, where its members are at the top level. The draft had no lastUpdatedAt (C-D-005).
 * Invalid hints are ignored.
 */
export function readTask(value: JsonObject): ReportedTask | Violation {
  const { status, ttl, pollInterval } = value;
  const members = readTaskMembers(value, ttl, pollInterval);
  if (members instanceof Violation) return members;
  return isStatus(status) ? { ...members, status } : unknownStatus(status);
}

/** The same for an answer that must be about this task. */
export function readAbout(answer: JsonObject, taskId: string): ReportedTask | Violation {
  return violationOfId(answer, taskId) ?? readTask(answer);
}

/** Reads the answer to `tools/call`. A task is in `task`, even if the call asked for none (C-024). */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  const { task } = answer;
  if (!isJsonObject(task)) {
    const isResult = task === undefined || Array.isArray(answer["content"]);
    return isResult
      ? directAnswer(readToolResult(answer))
      : new Violation("The server created a task that is not an object");
  }
  const taskId = readTaskId(task, "created");
  if (taskId instanceof Violation) return taskId;
  const reported = readTask(task);
  // In any other status the answer is incomplete, and the task is polled at once.
  const isWhole = !(reported instanceof Violation) && reported.status === "working";
  const shown = isWhole ? { ...reported, status: "working" as const } : undefined;
  return { kind: "task", taskId, task: shown, immediateResponse: immediateResponseOf(answer) };
}

function isStatus(value: unknown): value is WireStatus {
  return statuses.has(value);
}
