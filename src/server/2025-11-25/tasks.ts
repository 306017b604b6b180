import type { TaskSnapshot } from "../../task/record.ts";
import {
  cancelResult,
  createTaskResult,
  logNotification,
  nestedRequest,
  progressNotification,
  readTaskParams,
  relatedTask,
  statusNotification,
  taskResult,
  type TasksMethod,
  wireTask,
} from "../../generation/2025-11-25.ts";
import {
  hasIdempotencyKey,
  isRepeat,
  readIdempotencyKey,
  withQuestionKey,
} from "../../generation/extensions.ts";
import { type JsonObject, metaOf } from "../../generation/message.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";
import { isRepeatable, type Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError } from "../../task/fault.ts";
import { type Answer, progressTokenOf, type ToolRequest } from "../request.ts";
import { answerWithTask, taskCallOf } from "../waiting-call.ts";
import { notRepeatable, toolNotFound } from "../faults.ts";
import { refusedAsTask } from "../plain/plain-policies.ts";
import { getTask, requestorWith, type TaskMethods, type TaskSession } from "../sessions/task-session.ts";
import type { SessionContext } from "../sessions/session-context.ts";
import { askClient } from "../connection/ask-client.ts";
import type { NotificationFormat } from "../subscriptions/subscribers.ts";

/** Throws the fault of a call, also of an author's own tool, before its arguments are validated. */
export function refuseCall(
  params: JsonObject,
  tool: Tool | undefined,
  isPollingTool: boolean,
  { client, core, services }: SessionContext,
): void {
  const { hasCore, isPlain, hasUsedTasks } = client;
  const name = typeof params["name"] === "string" ? params["name"] : "without a name";
  const mode = tool?.task ?? "forbidden";
  const asTask = hasCore && params["task"] !== undefined;
  if (isPollingTool && !isPlain) throw toolNotFound(name);
  if (asTask && mode === "forbidden") {
    throw new HoldfastError("method_not_found", `Tool ${name} does not run as a task.`);
  }
  if (!asTask && mode === "required") {
    throw new HoldfastError("method_not_found", `Tool ${name} runs only as a task.`);
  }
  if (!asTask && mode === "optional" && services.requireTasks && hasCore) {
    throw new HoldfastError("invalid_request", "This server requires params.task on tools/call.");
  }
  const isFound = mode === "optional" && !hasUsedTasks && hasIdempotencyKey(params);
  const mayRunTwice = tool !== undefined && isRepeatable(tool);
  if (!asTask && !isFound && !mayRunTwice && isRepeat(params)) throw notRepeatable(name);
  if (!asTask || tool === undefined) return;
  const refusal = refusedAsTask(tool, core.connection.capabilities);
  if (refusal !== undefined) throw refusal;
  readTaskParams(params);
}

/**
 * Answers a call that asks for a task with the task. Rejects with a `HoldfastError`, also for invalid arguments: the client
 * expects a task, and cannot read the result of a tool (C-022, C-024).
 */
export async function createTask(tool: Tool, request: ToolRequest, session: TaskSession): Promise<Answer> {
  const { runtime, connection } = session;
  const { params, access } = request;
  const validated = await validateArguments(tool, params["arguments"]);
  if (!validated.ok) throw new HoldfastError("invalid_params", validated.problem);
  const task = readTaskParams(params);
  const { streams, capabilities, principal } = connection;
  const idempotencyKey = readIdempotencyKey(metaOf(params), principal);
  const requestor = requestorWith(session, access);
  const call = {
    ...taskCallOf(runtime.registry, tool, request, { requestor, capabilities, session: streams.sessionKey }),
    ...(task?.ttlMs === undefined ? {} : { ttlMs: task.ttlMs }),
    ...(tool.prepare === undefined ? {} : { prepareInTask: true as const }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  return answerWithTask(runtime, call, request, {
    answer: (created) => taskCreated(created, tool, request, session),
  });
}

/** Answers a call with the task that it has created, and subscribes its connection to the task. */
export function taskCreated(
  created: TaskSnapshot,
  tool: Tool | undefined,
  { id, params, signal, access, trace }: ToolRequest,
  session: TaskSession,
): Answer {
  const { subscriptions, connection } = session;
  trace?.about(created.task.id);
  const subscriber = { connection, progressToken: progressTokenOf(params) };
  if (!signal.aborted) {
    // Nothing is sent about a task whose id the client does not have.
    connection.afterAnswer(id, (end) => {
      if (end !== "lost") subscriptions.follow(created, requestorWith(session, access), subscriber);
      if (end !== "sent") session.runtime.undelivered(created.task);
    });
  }
  return { result: { ...createTaskResult(created, tool?.immediateResponse) } };
}

/** Tasks of 2025-11-25 send their status, progress and log. Their questions name the task, and have a key. */
export const format: NotificationFormat = {
  state: (task) => statusNotification(wireTask(task)),
  progress: progressNotification,
  log: logNotification,
  ask: (question, { wireId, key }) =>
    askClient({
      ...question,
      ...nestedRequest(question.method, withQuestionKey(question.params, key), wireId),
      related: relatedTask(wireId),
    }),
};

/** How the methods about one task are answered. */
export const methods: TaskMethods<Exclude<TasksMethod, "tasks/list">> = {
  "tasks/get": async (about) => ({ result: { ...wireTask((await getTask(about)).task) } }),

  async "tasks/result"({ id, request, session, requestor }) {
    const { connection, subscriptions, runtime } = session;
    const { id: asking, reserve, trace } = request;
    const signal = AbortSignal.any([request.signal, connection.lost(asking, request.signal)]);
    const finished = await subscriptions.finished(id, requestor, {
      connection,
      request: asking,
      signal,
      reserve,
    });
    trace?.about(id);
    runtime.retrieved(finished.task, "tasks/result");
    return taskResult(finished);
  },

  async "tasks/cancel"({ id, request, session, requestor }) {
    const { task, cancelled } = await session.runtime.cancelNow(id, requestor);
    request.trace?.about(id);
    return { result: { ...cancelResult(task, cancelled) } };
  },
};
