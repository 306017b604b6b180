import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { asksForTask } from "../../../generation/sep-1686/create.ts";
import { taskMethods } from "../../../generation/sep-1686/methods.ts";
import { generation } from "../../../generation/sep-1686/name.ts";
import { RequestDeduplicator } from "../../session/request-deduplicator.ts";
import { questionMethods } from "../../session/receiver/question-tools.ts";
import { ReceivedRequests, type ReceiverOptions } from "../../session/receiver/received-requests.ts";
import type { SharedRuntime } from "../../session/receiver/shared-runtime.ts";
import { answerTasksRequest, type RequestorContext } from "./tasks-requests.ts";
import { runQuestionAsTask } from "./run-question-as-task.ts";

/** Runs a server's questions as tasks of SEP-1686 in this client, under the server's ids. */
export class SepReceiver {
  readonly #options: ReceiverOptions;
  readonly #shared: SharedRuntime;
  readonly #context: RequestorContext;
  readonly #requests: ReceivedRequests;
  readonly #deduplicator = new RequestDeduplicator();
  readonly #cleanups: readonly (() => void)[];
  #closing: Promise<void> | undefined;

  constructor(setup: ReceiverOptions, shared: SharedRuntime) {
    const { requester, server, callbacks, options } = setup;
    this.#options = setup;
    this.#shared = shared;
    const { runtime } = shared;
    this.#context = { runtime, requestor: { generation, principal: server }, scope: server };
    this.#requests = new ReceivedRequests(requester, options.onError);
    this.#cleanups = [
      shared.responders.add(server, callbacks),
      requester.handlers.onRequest((request) => this.#onRequest(request)),
    ];
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
    const { requester, server, callbacks } = this.#options;
    const { id, method, params = {} } = request;
    const about = taskMethods.find((known) => known === method);
    if (about !== undefined) {
      this.#requests.answer(id, async () => answerTasksRequest(about, params, this.#context));
      return true;
    }
    // Questions that are not declared, or ask for no task, are answered as plain requests (S-009).
    const isQuestion = questionMethods.some((known) => known === method);
    if (!isQuestion || !asksForTask(params) || !callbacks.declares({ method, params })) return false;
    // A duplicate of the message is not a second request for the task's id.
    if (!this.#deduplicator.isFirst(id, requester.session)) return true;
    const context = { ...this.#context, requester, server };
    this.#requests.answer(id, async (signal) => runQuestionAsTask(context, request, signal));
    return true;
  }
}
