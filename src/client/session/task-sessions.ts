import type { StoredCall } from "../handles/handle-store.ts";
import { isUnknown, type Reply, readReply, Violation } from "../reply/reply.ts";
import { sessionHeader } from "../transport/recording-fetch.ts";
import type { RawRequestOptions } from "../transport/raw-request.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { BoundedMap } from "./bounded-map.ts";
import { type JsonObject, isJsonObject } from "../../generation/message.ts";
import type { ClientClock } from "../clock.ts";
import type { TaskPage, TaskSummary } from "../task/remote-task.ts";

interface Services {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
}

/**
 * Sends `tasks/list`, whose cursors are opaque (C-070, C-074, S-044, S-048), with `more` params. Reads the tasks by `readSummary`: one
 * invalid task makes the page invalid.
 */
export async function requestTaskPage(
  services: Services,
  cursor: string | undefined,
  readSummary: (task: JsonObject) => TaskSummary | Violation,
  signal: AbortSignal,
  more: JsonObject = {},
): Promise<Reply<TaskPage<TaskSummary>>> {
  const params = cursor === undefined ? more : { ...more, cursor };
  const reply = await requestWithTimeout(services, "tasks/list", params, signal);
  return readReply(reply, (answer) => readTaskPage(answer, readSummary));
}

function readTaskPage(
  answer: JsonObject,
  readSummary: (task: JsonObject) => TaskSummary | Violation,
): TaskPage<TaskSummary> | Violation {
  const { tasks, nextCursor = null } = answer;
  if (!Array.isArray(tasks)) return new Violation("The server sent a task list without tasks");
  // Ignoring it would end the list too early.
  if (nextCursor !== null && typeof nextCursor !== "string")
    return new Violation("The server sent a nextCursor that is not a string");
  const summaries: TaskSummary[] = [];
  for (const task of tasks as readonly unknown[]) {
    const summary = isJsonObject(task)
      ? readSummary(task)
      : new Violation("The server listed something that is not a task");
    if (summary instanceof Violation) return summary;
    summaries.push(summary);
  }
  return { tasks: summaries, ...(nextCursor !== null && { nextCursor }) };
}

interface TaskSessionsOptions {
  readonly requester: Pick<RawRequester, "sessionId" | "origin">;
  /** The stored call of a task. */
  readonly storedCall: (taskId: string) => Promise<StoredCall | undefined>;
}

/** Options of messages about a task. */
type TaskMessageOptions = Pick<RawRequestOptions, "headers">;

/**
 * Tasks that are visible only in the session that created them, in an earlier process, while this connection has another session.
 * Requests about such a task are sent in its session instead of the connection's own.
 */
export class TaskSessions {
  readonly #options: TaskSessionsOptions;
  readonly #sessions = new BoundedMap<string>(10_000);

  constructor(options: TaskSessionsOptions) {
    this.#options = options;
  }

  /** Options for messages about the task. */
  of(taskId: string): TaskMessageOptions {
    const sessionId = this.#sessions.get(taskId);
    return sessionId === undefined ? {} : { headers: { [sessionHeader]: sessionId } };
  }

  /**
   * Sends a request about the task: in its session if that is known, or if the connection's own session does not know the task.
   * `mayFail`: an error can be the task's own, which no other session changes.
   */
  async ask<Value>(
    taskId: string,
    send: (options: TaskMessageOptions) => Promise<Reply<Value>>,
    { mayFail = false }: { readonly mayFail?: boolean } = {},
  ): Promise<Reply<Value>> {
    const options = this.of(taskId);
    const reply = await send(options);
    if (options.headers !== undefined && !isAnswered(reply) && !mayFail) {
      // The stored session may be gone: try the connection's own.
      this.#sessions.delete(taskId);
      return this.ask(taskId, send);
    }
    if (!isUnknown(reply) || !(await this.#find(taskId))) return reply;
    const retried = await send(this.of(taskId));
    if (isAnswered(retried)) return retried;
    this.#sessions.delete(taskId);
    return reply;
  }

  /** Finds the task's stored session. Resolves with false if there is none to try. */
  async #find(taskId: string): Promise<boolean> {
    const { requester, storedCall } = this.#options;
    if (requester.sessionId === undefined || this.#sessions.get(taskId) !== undefined) return false;
    const { sessionId, sessionOrigin } = (await storedCall(taskId)) ?? {};
    if (sessionId === undefined || sessionId === requester.sessionId) return false;
    if (sessionOrigin !== requester.origin) return false;
    this.#sessions.set(taskId, sessionId);
    return true;
  }
}

function isAnswered({ kind }: Reply<unknown>): boolean {
  return kind === "value" || kind === "lost";
}
