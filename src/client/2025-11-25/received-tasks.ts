import { listResult, readTaskId } from "../../generation/message.ts";
import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import {
  cancelResult,
  createTaskResult,
  taskMethods,
  generation,
  statusNotification,
  readTaskParams,
  relatedTaskOf,
  type TasksMethod,
  taskResult,
  wireTask,
  type WireTask,
} from "../../generation/2025-11-25.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import {
  type Answer,
  listPage,
  parentOf,
  type ReceivedTasks,
  type ReceiverParts,
  unlessDeleted,
  untilFinished,
  type Work,
} from "../session/receiver/receiver.ts";
import {
  type Question,
  questionCall,
  type QuestionCall,
  withAnswer,
} from "../session/receiver/question-tools.ts";
import { questionKeyOf, withParent } from "../../generation/extensions.ts";
import { requestHash } from "../../runtime/call-keys.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { JsonObject } from "../../generation/message.ts";

/** A server's questions as tasks of 2025-11-25: the answer to the question is a task. */
export class CoreReceivedTasks implements ReceivedTasks {
  readonly #parts: ReceiverParts;
  readonly #requestor: Requestor;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
    this.#requestor = { generation, principal: parts.server };
  }

  aboutTask({ id, method, params = {} }: JSONRPCRequest): Work | undefined {
    const about = taskMethods.find((known) => known === method);
    if (about === undefined) return undefined;
    const { requests, shared } = this.#parts;
    const { runtime, unfetchedAnswers } = shared;
    return async (signal) => {
      if (about === "tasks/result")
        requests.afterResult(id, () => void unfetchedAnswers.delete(String(params["taskId"])));
      return answerTasksRequest({ runtime, requestor: this.#requestor }, about, params, signal);
    };
  }

  question(question: Question): Work | undefined {
    const { method, params } = question;
    if (params["task"] !== undefined) return async () => this.#create(question);
    if (this.#parts.options.required !== true) return undefined;
    return async () => {
      throw new HoldfastError("invalid_request", `${method} needs params.task here.`);
    };
  }

  async #create(question: Question): Promise<Answer> {
    const { shared, server, requests } = this.#parts;
    const { runtime, unfetchedAnswers } = shared;
    const context = { runtime, unfetchedAnswers, requestor: this.#requestor, server };
    const snapshot = await findOrCreateTask(context, question);
    // Sends no notification about a task before its id was sent.
    requests.afterResult(question.id, () => this.#follow(snapshot.task.id));
    const created = createTaskResult(snapshot);
    return { result: { ...created, task: withParent(created.task, relatedTaskOf(question.params)) } };
  }

  /** Notifies the server when the task ends. The server must not rely on it (C-065). */
  #follow(id: string): void {
    const { shared, requester, cleanups } = this.#parts;
    const about = { runtime: shared.runtime, requestor: this.#requestor };
    let isNotified = false;
    const check = async (): Promise<void> => {
      const snapshot = await shared.runtime.get(id, this.#requestor);
      if (snapshot.task.finishedAt === null || isNotified) return;
      isNotified = true;
      unwatch();
      const { method, params } = statusNotification(await shown(about, snapshot.task));
      await requester.sendOnce({ jsonrpc: "2.0", method, params: { ...params } });
    };
    const onChange = (): void => void check().catch(unwatch); // the task was deleted, or the runtime stops
    const stop = shared.runtime.watch([id], onChange);
    const unwatch = (): void => {
      stop();
      cleanups.delete(unwatch);
    };
    cleanups.add(unwatch);
    onChange();
  }
}

interface RequestContext {
  readonly runtime: Runtime;
  readonly unfetchedAnswers: ReadonlySet<string>;
  readonly requestor: Requestor;
  readonly server: string;
}

/** How many of the newest tasks are searched. */
const searchLimit = 200;

/**
 * The task for a question. A server may repeat the question of its own task, after a broken connection or a
 * restart; it then gets the same task: always if the question has a key, otherwise until the server has fetched the
 * answer.
 */
export async function findOrCreateTask(
  { runtime, unfetchedAnswers, requestor, server }: RequestContext,
  question: Question,
): Promise<TaskSnapshot> {
  const { ttlMs } = readTaskParams(question.params) ?? {};
  const { task: _, ...own } = question.params;
  const call = questionCall(server, question, own, relatedTaskOf(own));
  const same = call.arguments.taskId === null ? undefined : await openTask(call);
  if (same !== undefined) return same;
  return runtime.create({ ...requestor, ...call, ...(ttlMs !== undefined && { ttlMs }) });

  async function openTask({ tool, arguments: asked }: QuestionCall): Promise<TaskSnapshot | undefined> {
    const hash = requestHash(tool, asked);
    const hasName = questionKeyOf(asked.params) !== undefined;
    const tasks = await runtime.list(requestor, { limit: searchLimit });
    const found = tasks.find(
      (task) =>
        task.requestHash === hash &&
        task.state !== "cancelled" &&
        (task.finishedAt === null || hasName || unfetchedAnswers.has(task.id)),
    );
    return found === undefined ? undefined : runtime.get(found.id, requestor);
  }
}

interface About {
  readonly runtime: Runtime;
  readonly requestor: Requestor;
}

/** Answers a server's `tasks/*` request about its tasks in this client. Rejects with a `HoldfastError`. */
export async function answerTasksRequest(
  about: About,
  method: TasksMethod,
  params: JsonObject,
  signal: AbortSignal,
): Promise<Answer> {
  const { runtime, requestor } = about;
  switch (method) {
    case "tasks/get": {
      const { task } = await runtime.get(readTaskId(method, params), requestor);
      return { result: { ...(await shown(about, task)) } };
    }
    case "tasks/cancel": {
      const { task, cancelled } = await runtime.cancelNow(readTaskId(method, params), requestor);
      return { result: { ...withParent(cancelResult(task, cancelled), await parentOf(about, task)) } };
    }
    case "tasks/result": {
      const finished = await untilFinished(runtime, requestor, readTaskId(method, params), signal); // C-059
      runtime.retrieved(finished.task, method);
      return taskResult(withAnswer(finished));
    }
    case "tasks/list": {
      const { records, nextCursor } = await listPage(runtime, requestor, params);
      const tasks = await unlessDeleted(records, async (record) => shown(about, record));
      return { result: { ...listResult(tasks, nextCursor) } };
    }
  }
}

async function shown(about: About, task: TaskRecord): Promise<WireTask> {
  return withParent(wireTask(task), await parentOf(about, task));
}
