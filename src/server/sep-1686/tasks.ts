import {
  createdMethod,
  declaresTask,
  deleteTaskResult,
  generation,
  getTaskResult,
  logNotification,
  nestedRequest,
  progressNotification,
  relatedTask,
  relatedTaskOf,
  taskResult,
  type TasksMethod,
} from "../../generation/sep-1686.ts";
import { HoldfastError } from "../../task/fault.ts";
import { getTask, type TaskMethods } from "../sessions/task-session.ts";
import { withQuestionKey } from "../../generation/extensions.ts";
import { askClient } from "../connection/ask-client.ts";
import { inTime, pauseOf } from "../connection/client-task.ts";
import type { NotificationFormat } from "../subscriptions/subscribers.ts";
import type { JsonObject } from "../../generation/message.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import { ofTask, type Reply, type ReplyTerms } from "../connection/connection.ts";
import { type Question, replyTo } from "../connection/question.ts";

/** How the methods about one task are answered. */
export const methods: TaskMethods<Exclude<TasksMethod, "tasks/list">> = {
  "tasks/get": async (about) => ({ result: { ...getTaskResult(await getTask(about)) } }),

  async "tasks/result"({ id, request, session, requestor }) {
    const snapshot = await session.runtime.get(id, requestor, undefined, request.reserve);
    request.trace?.about(id);
    const result = taskResult(snapshot);
    session.runtime.retrieved(snapshot.task, "tasks/result");
    return { result };
  },

  async "tasks/delete"({ id, name, request, session, requestor }) {
    const { runtime } = session;
    if (requestor.generation !== generation) {
      await runtime.get(id, requestor);
      throw new HoldfastError(
        "invalid_params",
        `A task of ${requestor.generation} cannot be deleted. The server deletes it when its ttl is over.`,
      );
    }
    const kept = await runtime.delete(id, requestor);
    request.trace?.about(id);
    return { result: { ...deleteTaskResult(name, kept) } };
  },
};

/**
 * Tasks of SEP-1686 send no status. Their progress, log and questions name the task, and questions have a key (S-057, S-061). If
 * the client declares that it takes such a question as a task, it is asked as one (S-002).
 */
export const format: NotificationFormat = {
  progress: progressNotification,
  log: logNotification,
  ask(question, { wireId, key }) {
    const { connection, method, params, clock, mayBeTask = true } = question;
    const takes = mayBeTask && method !== "roots/list" && declaresTask(connection.capabilities, method);
    const task = takes ? { taskId: clock.uniqueName() } : undefined;
    const asked = {
      ...question,
      ...nestedRequest(method, withQuestionKey(params, key), wireId, task),
      related: relatedTask(wireId),
    };
    return task === undefined ? askClient({ ...asked, mayBeTask: false }) : askAsTask(asked, task.taskId);
  },
};

/**
 * Asks the client for a task with this id, and resolves with what comes first: the reply to the question, or, once the
 * client has announced the task, the result that polls find (S-016, S-017). Rejects as `askClient` does.
 */
export async function askAsTask(question: Question, taskId: string): Promise<Reply> {
  const { connection, method, params, via, signal } = question;
  signal.throwIfAborted();
  const created = Promise.withResolvers<void>();
  const unlisten = connection.onTaskNotification((name, about) => {
    if (name === createdMethod && relatedTaskOf(about) === taskId) created.resolve();
  });
  const over = new AbortController();
  const stream = via();
  const asked = connection.ask(method, params, stream, question);
  const replied = replyTo(question, asked, stream);
  const polled = created.promise.then(() => {
    question.onTaskCreated?.();
    return pollReply({ ...question, signal: over.signal }, taskId);
  });
  polled.catch(() => undefined); // the reply came first
  try {
    return await Promise.race([replied.then(ofTask), polled]);
  } finally {
    unlisten();
    over.abort();
    asked.forget();
  }
}

/** The result of the client's task, or an error if it has none; rejects when the signal aborts. */
async function pollReply(question: Question, taskId: string): Promise<Reply> {
  const { connection, via, signal, clock, requiredScopes } = question;
  const about = { taskId, _meta: relatedTask(taskId) };
  const ask = (method: string, terms: ReplyTerms = { requiredScopes }): Promise<Reply | undefined> =>
    inTime(question, connection.ask(method, about, via(), terms), () => undefined);
  for (;;) {
    const reply = await ask("tasks/get");
    const task = reply !== undefined && "result" in reply ? reply.result : {};
    switch (task["status"]) {
      case "completed": {
        const result = await ask("tasks/result", question);
        if (result !== undefined && "result" in result) return result;
        break;
      }
      case "failed":
      case "unknown":
        return ofTask({ error: { code: -32603, message: errorOf(task) } });
      case "cancelled": // by the user, on the client: not asked again
        return { error: { code: -32603, message: errorOf(task) } };
    }
    await waitFor((done) => clock.after(pauseOf(task["pollFrequency"]), done), signal);
  }
}

function errorOf({ error, status }: JsonObject): string {
  return typeof error === "string" ? error : `The client's task is ${String(status)}.`;
}
