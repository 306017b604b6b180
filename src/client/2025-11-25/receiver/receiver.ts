import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { createTaskResult } from "../../../generation/2025-11-25/create.ts";
import { taskMethods } from "../../../generation/2025-11-25/methods.ts";
import { generation } from "../../../generation/2025-11-25/name.ts";
import { statusNotification } from "../../../generation/2025-11-25/notify.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import type { Requestor } from "../../../runtime/runtime.ts";
import { HoldfastError } from "../../../task/fault.ts";
import { questionMethods, type QuestionMethod } from "../../session/receiver/question-tools.ts";
import { ReceivedRequests, type Answer } from "../../session/receiver/received-requests.ts";
import type { ReceiverSetup } from "../../session/receiver/receiver-setup.ts";
import type { SharedRuntime } from "../../session/receiver/shared-runtime.ts";
import { answerAboutTask, shown } from "./answer-about-task.ts";
import { takeQuestion } from "./take-question.ts";

/** The client as the one that runs tasks: what a server asks becomes a record here, and an answer there. */
export class Receiver {
  readonly #setup: ReceiverSetup;
  readonly #shared: SharedRuntime;
  readonly #requestor: Requestor;
  readonly #requests: ReceivedRequests;
  readonly #leave: Set<() => void>;
  #closing: Promise<void> | undefined;

  constructor(setup: ReceiverSetup, shared: SharedRuntime) {
    const { requester, server, callbacks, options } = setup;
    this.#setup = setup;
    this.#shared = shared;
    this.#requestor = { generation, principal: server };
    this.#requests = new ReceivedRequests(requester, options.onError);
    this.#leave = new Set([
      shared.seats.take(server, callbacks),
      requester.takers.onRequest((request) => this.#take(request)),
    ]);
  }

  /** The tasks stay in the store, and go on when a connection to their server is there again. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const leave of this.#leave) leave();
    this.#requests.close();
    await this.#shared.leave();
  }

  #take(request: JSONRPCRequest): boolean {
    const { callbacks, options } = this.#setup;
    const { id, method, params = {} } = request;
    const about = taskMethods.find((known) => known === method);
    if (about !== undefined) {
      const { runtime, unfetched } = this.#shared;
      const requestor = this.#requestor;
      if (about === "tasks/result") {
        this.#requests.afterResult(id, () => void unfetched.delete(String(params["taskId"])));
      }
      this.#requests.answer(id, (signal) => answerAboutTask({ runtime, requestor }, about, params, signal));
      return true;
    }
    const asked = questionMethods.find((known) => known === method);
    // What was not declared as a task is answered as if nothing were said of tasks (C-028).
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
    const { runtime, unfetched } = this.#shared;
    const taker = { runtime, unfetched, requestor: this.#requestor, server: this.#setup.server };
    const snapshot = await takeQuestion(taker, id, method, params);
    // Nothing is said of a task before its id is out.
    this.#requests.afterResult(id, () => this.#follow(snapshot.task.id));
    return { result: { ...createTaskResult(snapshot) } };
  }

  /** Tells the server when the task ends, which it may not rely on (C-065). */
  #follow(id: string): void {
    const { runtime } = this.#shared;
    let told = false;
    const look = async (): Promise<void> => {
      const snapshot = await runtime.get(id, this.#requestor);
      if (snapshot.task.finishedAt === null || told) return;
      told = true;
      leave();
      const { method, params } = statusNotification(shown(snapshot));
      await this.#setup.requester.tell({ jsonrpc: "2.0", method, params: { ...params } });
    };
    const looked = (): void => void look().catch(leave); // it was deleted, or the runtime stops
    const stop = runtime.watch([id], looked);
    const leave = (): void => {
      stop();
      this.#leave.delete(leave);
    };
    this.#leave.add(leave);
    looked();
  }
}
