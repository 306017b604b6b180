import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { createTaskResult } from "../../../generation/2025-11-25/create.ts";
import { taskMethods } from "../../../generation/2025-11-25/methods.ts";
import { generation } from "../../../generation/2025-11-25/name.ts";
import { statusNotification } from "../../../generation/2025-11-25/notify.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import type { Requestor } from "../../../runtime/runtime.ts";
import { HoldfastError } from "../../../task/fault.ts";
import { questionMethods, type QuestionMethod } from "../../session/receiver/question-tools.ts";
import {
  ReceivedRequests,
  type Answer,
  type ReceiverOptions,
} from "../../session/receiver/received-requests.ts";
import type { SharedRuntime } from "../../session/receiver/shared-runtime.ts";
import { answerTasksRequest, shown } from "./tasks-requests.ts";
import { findOrCreateTask } from "./find-or-create-task.ts";

/** Runs a server's questions as tasks in this client (it is the receiver of the tasks). */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #shared: SharedRuntime;
  readonly #requestor: Requestor;
  readonly #requests: ReceivedRequests;
  readonly #cleanups: Set<() => void>;
  #closing: Promise<void> | undefined;

  constructor(setup: ReceiverOptions, shared: SharedRuntime) {
    const { requester, server, callbacks, options } = setup;
    this.#options = setup;
    this.#shared = shared;
    this.#requestor = { generation, principal: server };
    this.#requests = new ReceivedRequests(requester, options.onError);
    this.#cleanups = new Set([
      shared.responders.add(server, callbacks),
      requester.handlers.onRequest((request) => this.#onRequest(request)),
    ]);
  }

  /** The tasks stay in the store, and continue when there is a connection to their server again. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const cleanup of this.#cleanups) cleanup();
    this.#requests.close();
    await this.#shared.release();
  }

  #onRequest(request: JSONRPCRequest): boolean {
    const { callbacks, options } = this.#options;
    const { id, method, params = {} } = request;
    const about = taskMethods.find((known) => known === method);
    if (about !== undefined) {
      const { runtime, unfetchedAnswers } = this.#shared;
      const requestor = this.#requestor;
      if (about === "tasks/result") {
        this.#requests.afterResult(id, () => void unfetchedAnswers.delete(String(params["taskId"])));
      }
      this.#requests.answer(id, (signal) =>
        answerTasksRequest({ runtime, requestor }, about, params, signal),
      );
      return true;
    }
    const asked = questionMethods.find((known) => known === method);
    // A request that was not declared as a task is answered as a plain one (C-028).
    if (asked === undefined || !callbacks.declares({ method: asked, params })) return false;
    if (params["task"] !== undefined) {
      this.#requests.answer(id, async () => this.#create(id, asked, params));
      return true;
    }
    if (options.required !== true) return false;
    this.#requests.answer(id, async () => {
      throw new HoldfastError("invalid_request", `${method} needs params.task here.`);
    });
    return true;
  }

  async #create(id: RequestId, method: QuestionMethod, params: JsonObject): Promise<Answer> {
    const { runtime, unfetchedAnswers } = this.#shared;
    const context = { runtime, unfetchedAnswers, requestor: this.#requestor, server: this.#options.server };
    const snapshot = await findOrCreateTask(context, id, method, params);
    // Sends no notification about a task before its id was sent.
    this.#requests.afterResult(id, () => this.#follow(snapshot.task.id));
    return { result: { ...createTaskResult(snapshot) } };
  }

  /** Notifies the server when the task ends. The server must not rely on it (C-065). */
  #follow(id: string): void {
    const { runtime } = this.#shared;
    let isNotified = false;
    const check = async (): Promise<void> => {
      const snapshot = await runtime.get(id, this.#requestor);
      if (snapshot.task.finishedAt === null || isNotified) return;
      isNotified = true;
      unwatch();
      const { method, params } = statusNotification(shown(snapshot));
      await this.#options.requester.sendOnce({ jsonrpc: "2.0", method, params: { ...params } });
    };
    const onChange = (): void => void check().catch(unwatch); // the task was deleted, or the runtime stops
    const stop = runtime.watch([id], onChange);
    const unwatch = (): void => {
      stop();
      this.#cleanups.delete(unwatch);
    };
    this.#cleanups.add(unwatch);
    onChange();
  }
}
