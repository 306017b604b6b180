import { isJSONRPCResultResponse, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import {
  clientTasksCapability,
  declaresTask,
  generation,
  relatedTaskOf,
  withRelatedTask,
} from "../../generation/sep-1686.ts";
import { generationAt } from "../../generation/generations.ts";
import type { ClientGeneration } from "../generation.ts";
import type { ClientClock } from "../clock.ts";
import type { UserCallbacks } from "../question/ask-user.ts";
import {
  type ErrorReply,
  isUnknown,
  readReply,
  readToolResult,
  type Reply,
  Violation,
} from "../reply/reply.ts";
import { requestTaskPage, type TaskSessions } from "../session/task-sessions.ts";
import { followerOf } from "../session/followed-lines.ts";
import { BoundedMap } from "../session/bounded-map.ts";
import { PendingQuestions } from "../session/pending-questions.ts";
import { TaskInbox, TaskInboxes } from "../session/task-inbox.ts";
import { pollInterval } from "../task/poll-limits.ts";
import {
  type EndedTask,
  hasEnded,
  type RemoteTask,
  type TaskPage,
  type TaskSummary,
} from "../task/remote-task.ts";
import type { CallAnswer, ReadAnswer, ReadRequest, TaskProtocol, ToolCall } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";
import { cancelledNotification, SepCalls } from "./sep-calls.ts";
import { ObservedTasks, readListed, readTask, type ReportedTask } from "./read-task.ts";

/**
 * A server's answer to the handshake in a form that the SDK's client accepts: the SDK rejects booleans where
 * 2025-11-25 has objects, and SEP-1686 has booleans (S-003). They are moved from `requests` to its parent.
 */
function readableHandshake(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCResultResponse(message)) return message;
  const { capabilities, protocolVersion } = message.result;
  if (typeof protocolVersion !== "string" || !isJsonObject(capabilities)) return message;
  const { tasks } = capabilities;
  if (!isJsonObject(tasks)) return message;
  const { requests, ...others } = tasks;
  if (!isJsonObject(requests) || !hasBooleans(requests)) return message;
  const declared = { ...capabilities, tasks: { ...others, ...requests } };
  return { ...message, result: { ...message.result, capabilities: declared } };
}

function hasBooleans(requests: JsonObject): boolean {
  return Object.values(requests).some(
    (category) => isJsonObject(category) && Object.values(category).some((each) => typeof each === "boolean"),
  );
}

/**
 * Declares the requests that a client with these capabilities runs as tasks, in booleans that the SDK's server
 * accepts (S-003).
 */
function tasksCapability({ elicitation, sampling }: JsonObject): object {
  return clientTasksCapability([
    ...(elicitation === undefined ? [] : (["elicitation/create"] as const)),
    ...(sampling === undefined ? [] : (["sampling/createMessage"] as const)),
  ]);
}

/** The tasks of SEP-1686, which servers need not declare. */
export const sep: ClientGeneration = {
  options: { generation },
  mayBindToSession: false,
  receiving: {
    capability: tasksCapability,
    load: async () => {
      const { SepReceivedTasks } = await import("./received-tasks.ts");
      return (parts) => new SepReceivedTasks(parts);
    },
  },
  prepare: () => ({
    rewriteIncoming: readableHandshake,
    protocol: (parts) => new SepProtocol(parts),
  }),
};

interface SepProtocolOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** The server's capabilities. It may have tasks without declaring them. */
  readonly server: JsonObject;
  readonly version: string | undefined;
  readonly sessions: TaskSessions;
}

/**
 * What tells a server that also has the tasks of its revision whose list is meant. A list belongs to no task and names none, so this
 * is sent to no other server.
 */
const namesGeneration = withRelatedTask({}, "tasks/list");

/** How many ended tasks are kept for later reads. */
const maxEnded = 100;

/** How long a server may take to cancel a task (S-071). */
const cancelWaitMs = 30_000;

/**
 * The tasks of the original proposal. The client chooses the task's id, which is the idempotency key of the call,
 * and the server also answers the call when the task has ended.
 */
export class SepProtocol implements TaskProtocol {
  readonly generation = generation;
  /** A question is a request of its own, whose id is valid only for its stream; only some servers give keys. */
  readonly keepsQuestionKeys = false;
  /** Before a call is repeated, its task is looked for; if the result is unclear, it is not repeated (S-023). */
  readonly recognisesRepeats = true;
  readonly looksForTaskFirst = true;
  readonly #services: Pick<SepProtocolOptions, "requester" | "clock">;
  readonly #inboxes: TaskInboxes<TaskInbox>;
  readonly #calls: SepCalls;
  readonly #observed: ObservedTasks;
  readonly #sessions: TaskSessions;
  readonly #ended = new BoundedMap<EndedTask>(maxEnded);
  readonly #listParams: JsonObject;

  readonly answer: TaskProtocol["answer"];
  readonly observe: NonNullable<TaskProtocol["observe"]>;
  readonly followLines: TaskProtocol["followLines"];

  constructor({ requester, clock, callbacks, server, version, sessions }: SepProtocolOptions) {
    this.#services = { requester, clock };
    this.#listParams = generationAt(version) === generation ? {} : namesGeneration;
    this.#sessions = sessions;
    this.followLines = followerOf(this.#services, server);
    this.#observed = new ObservedTasks(clock);
    const makeInbox = (taskId: string): TaskInbox =>
      new TaskInbox(new PendingQuestions(taskId, requester, withRelatedTask, () => sessions.of(taskId)));
    this.#inboxes = new TaskInboxes({ requester, callbacks, relatedTaskOf, makeInbox });
    this.answer = this.#inboxes.answer;
    this.observe = this.#inboxes.observe;
    this.#calls = new SepCalls({
      requester,
      clock,
      declared: (method) => declaresTask(server, method),
      getTask: async (taskId, signal) => this.#getTask(taskId, signal),
      onTask: (taskId) => this.#observed.begin(taskId),
      onAnswer: (taskId, answer) => this.#answered(taskId, answer),
    });
  }

  /** No limit: the task is looked for each time. */
  recognisedMs(): number {
    return Infinity;
  }

  async call(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>> {
    return this.#calls.start(call, signal);
  }

  readonly read = async (request: ReadRequest, signal: AbortSignal): Promise<Reply<ReadAnswer>> =>
    this.#calls.read(request, signal);

  async get(taskId: string, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const ended = this.#ended.get(taskId);
    if (ended !== undefined) return { kind: "value", value: ended };
    const reply = await this.#getTask(taskId, signal);
    if (reply.kind !== "value") return reply;
    const reported = reply.value;
    switch (reported.status) {
      case "submitted":
      case "working":
      case "input_required": {
        const status = reported.status === "input_required" ? reported.status : "working";
        return { kind: "value", value: this.#inboxes.withQuestions(this.#observed.active(reported, status)) };
      }
      case "completed":
        return this.#completed(reported, signal);
      case "failed":
        return this.#failed(reported, reported.error ?? "The task failed, and the server does not say why");
      case "unknown": // counts as an end
        return this.#failed(
          reported,
          reported.error ?? "The server does not report what happened to the task",
        );
      case "cancelled":
        return { kind: "value", value: this.#taskEnded(this.#observed.cancelled(taskId, reported)) };
    }
  }

  /** Cancels by the id of the request that created the task, which is valid only in its session (S-063). */
  async cancel(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    const { requester } = this.#services;
    const requests = this.#calls.requestsOf(taskId);
    if (requests.length === 0) {
      const now = await this.get(taskId, signal);
      if (now.kind !== "value") return now;
      return hasEnded(now.value) ? done : notCancellable;
    }
    for (const { id } of requests) {
      const reported = await requester.sendOnce(cancelledNotification(id, taskId, "The task was cancelled"));
      if (reported.kind !== "value") return reported;
    }
    return this.#untilOver(taskId, signal);
  }

  /** Deletes a task before its time to keep is over (S-055). */
  async delete(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    const reply = await this.#request("tasks/delete", taskId, signal);
    if (reply.kind !== "value") return reply;
    this.#ended.delete(taskId);
    return done;
  }

  async list(cursor: string | undefined, signal: AbortSignal): Promise<Reply<TaskPage<TaskSummary>>> {
    return requestTaskPage(this.#services, cursor, readListed, signal, this.#listParams);
  }

  #answered(taskId: string, answer: Reply<JsonObject>): void {
    if (this.#ended.get(taskId) !== undefined) return;
    if (answer.kind === "error") this.#taskEnded(this.#observed.failed(taskId, answer.error));
    const result = answer.kind === "value" ? readToolResult(answer.value) : undefined;
    if (result !== undefined && !(result instanceof Violation)) {
      this.#taskEnded(this.#observed.completed(taskId, result));
    }
  }

  async #completed(reported: ReportedTask, signal: AbortSignal): Promise<Reply<RemoteTask>> {
    const { taskId } = reported;
    const reply = await this.#request("tasks/result", taskId, signal);
    return readReply(reply, (answer) => {
      const result = readToolResult(answer);
      if (result instanceof Violation) return result;
      return this.#ended.get(taskId) ?? this.#taskEnded(this.#observed.completed(taskId, result, reported));
    });
  }

  /** The server reports only a text. The error itself comes with the answer to the call. */
  #failed(reported: ReportedTask, message: string): Reply<RemoteTask> {
    const task = this.#observed.failed(reported.taskId, { code: -32603, message }, reported);
    return { kind: "value", value: this.#taskEnded(task) };
  }

  #taskEnded(task: EndedTask): EndedTask {
    const { taskId } = task;
    this.#ended.set(taskId, task);
    this.#inboxes.get(taskId)?.publish(task);
    this.#inboxes.taskEnded(taskId);
    this.#calls.drop(taskId);
    return task;
  }

  /** Polls until the task has ended, for 30 seconds at most (S-070, S-071). */
  async #untilOver(taskId: string, signal: AbortSignal): Promise<Reply<undefined>> {
    const { clock } = this.#services;
    const until = clock.elapsed() + cancelWaitMs;
    for (;;) {
      const now = await this.get(taskId, signal);
      if (isUnknown(now))
        this.#taskEnded(this.#observed.cancelled(taskId)); // cancelled and deleted
      else if (now.kind !== "value") return now;
      else if (!hasEnded(now.value)) {
        if (clock.elapsed() >= until) return notCancelled;
        await clock.sleep(pollInterval(now.value, 0), signal);
        continue;
      }
      return done;
    }
  }

  async #getTask(taskId: string, signal: AbortSignal): Promise<Reply<ReportedTask>> {
    return readReply(await this.#request("tasks/get", taskId, signal), (answer) => readTask(answer, taskId));
  }

  async #request(method: string, taskId: string, signal: AbortSignal): Promise<Reply<JsonObject>> {
    const params = withRelatedTask({ taskId }, taskId);
    return this.#sessions.ask(
      taskId,
      async (options) => requestWithTimeout(this.#services, method, params, signal, options),
      { mayFail: method === "tasks/result" },
    );
  }
}

const done: Reply<undefined> = { kind: "value", value: undefined };

const notCancellable: ErrorReply = {
  kind: "error",
  error: {
    code: -32601,
    message: "In SEP-1686 a task can be cancelled only in the session that created it",
  },
};

const notCancelled: Reply<never> = {
  kind: "bad",
  code: "protocol",
  isFinal: true,
  message: `The server was asked to cancel the task, but it is still running after ${cancelWaitMs / 1000} seconds`,
};
