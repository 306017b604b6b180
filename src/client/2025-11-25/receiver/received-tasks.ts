import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import {
  createTaskResult,
  taskMethods,
  generation,
  statusNotification,
} from "../../../generation/2025-11-25.ts";
import type { Requestor } from "../../../runtime/runtime.ts";
import { HoldfastError } from "../../../task/fault.ts";
import type { Answer } from "../../session/receiver/received-requests.ts";
import type { Question } from "../../session/receiver/question-tools.ts";
import type { ReceivedTasks, ReceiverParts, Work } from "../../session/receiver/receiver.ts";
import { answerTasksRequest, shown } from "./tasks-requests.ts";
import { findOrCreateTask } from "./find-or-create-task.ts";

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
    return { result: { ...createTaskResult(snapshot) } };
  }

  /** Notifies the server when the task ends. The server must not rely on it (C-065). */
  #follow(id: string): void {
    const { shared, requester, cleanups } = this.#parts;
    let isNotified = false;
    const check = async (): Promise<void> => {
      const snapshot = await shared.runtime.get(id, this.#requestor);
      if (snapshot.task.finishedAt === null || isNotified) return;
      isNotified = true;
      unwatch();
      const { method, params } = statusNotification(shown(snapshot));
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
