import type { JSONRPCNotification, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { createTaskResult } from "../../../generation/2025-11-25/create.ts";
import { taskMethods } from "../../../generation/2025-11-25/methods.ts";
import { generation } from "../../../generation/2025-11-25/name.ts";
import { statusNotification } from "../../../generation/2025-11-25/notify.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import type { Requestor } from "../../../runtime/runtime.ts";
import { HoldfastError, jsonRpcCodeOf } from "../../../task/fault.ts";
import type { JsonRpcError } from "../../../task/outcome.ts";
import type { UserCallbacks } from "../../question/ask-user.ts";
import type { ReceiveTasksOptions } from "../../receive-options.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";
import { answerAboutTask, shown, type Answer } from "./answer-about-task.ts";
import { questionMethods } from "./question-tools.ts";
import type { SharedRuntime } from "./shared-runtime.ts";
import { takeQuestion } from "./take-question.ts";

export interface ReceiverSetup {
  readonly requester: RawRequester;
  /** How this client names the server: its tasks are hidden from all others (C-118). */
  readonly server: string;
  readonly callbacks: UserCallbacks;
  readonly options: ReceiveTasksOptions;
}

/** The client as the one that runs tasks: what a server asks becomes a record here, and an answer there. */
export class Receiver {
  readonly #setup: ReceiverSetup;
  readonly #shared: SharedRuntime;
  readonly #requestor: Requestor;
  /** Requests of the server that wait for their answer. */
  readonly #waiting = new Map<RequestId, AbortController>();
  readonly #afterAnswer = new Map<RequestId, () => void>();
  readonly #leave: Set<() => void>;
  #closing: Promise<void> | undefined;

  constructor(setup: ReceiverSetup, shared: SharedRuntime) {
    const { requester, server, callbacks } = setup;
    this.#setup = setup;
    this.#shared = shared;
    this.#requestor = { generation, principal: server };
    this.#leave = new Set([
      shared.seats.take(server, callbacks),
      requester.takers.onRequest((request) => this.#take(request)),
      requester.takers.onNotification((notification) => this.#hear(notification)),
    ]);
  }

  /** The tasks stay in the store, and go on when a connection to their server is there again. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const leave of this.#leave) leave();
    for (const waiting of this.#waiting.values()) waiting.abort(new Error("The connection is over"));
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
        this.#afterAnswer.set(id, () => void unfetched.delete(String(params["taskId"])));
      }
      this.#answer(id, (signal) => answerAboutTask({ runtime, requestor }, about, params, signal));
      return true;
    }
    const asked = questionMethods.find((known) => known === method);
    // What was not declared as a task is answered as if nothing were said of tasks (C-028).
    if (asked === undefined || !callbacks.declares({ method: asked, params })) return false;
    if (params["task"] !== undefined) {
      this.#answer(id, async () => this.#create(id, asked, params));
      return true;
    }
    if (options.required !== true) return false;
    this.#answer(id, async () => {
      throw new HoldfastError("invalid_request", `${method} needs params.task here.`);
    });
    return true;
  }

  async #create(
    id: RequestId,
    method: (typeof questionMethods)[number],
    params: JsonObject,
  ): Promise<Answer> {
    const { runtime, unfetched } = this.#shared;
    const taker = { runtime, unfetched, requestor: this.#requestor, server: this.#setup.server };
    const snapshot = await takeQuestion(taker, id, method, params);
    // Nothing is said of a task before its id is out.
    this.#afterAnswer.set(id, () => this.#follow(snapshot.task.id));
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

  #hear({ method, params }: JSONRPCNotification): boolean {
    const id = params?.["requestId"];
    if (method !== "notifications/cancelled" || (typeof id !== "string" && typeof id !== "number"))
      return false;
    this.#waiting.get(id)?.abort(new Error("The server took the request back"));
    return false;
  }

  #answer(id: RequestId, work: (signal: AbortSignal) => Promise<Answer>): void {
    const { requester } = this.#setup;
    const waiting = new AbortController();
    const { session } = requester;
    this.#waiting.set(id, waiting);
    work(AbortSignal.any([waiting.signal, requester.over]))
      .catch((error: unknown): Answer => ({ error: this.#errorOf(error) }))
      .then(async (answer) => {
        // Nobody waits for it, or nobody knows the request any more.
        if (waiting.signal.aborted || requester.over.aborted || session !== requester.session) return;
        const message = "result" in answer ? { result: { ...answer.result } } : { error: answer.error };
        const { kind } = await requester.tell({ jsonrpc: "2.0", id, ...message });
        if (kind === "value" && "result" in answer) this.#afterAnswer.get(id)?.();
      })
      .catch(() => undefined) // the connection is over
      .finally(() => {
        this.#afterAnswer.delete(id);
        if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      });
  }

  #errorOf(thrown: unknown): JsonRpcError {
    if (thrown instanceof HoldfastError) {
      const code = jsonRpcCodeOf(thrown.code);
      const { message, data } = thrown;
      if (code !== -32603) return { code, message, ...(data !== undefined && { data }) };
    }
    if (!this.#setup.requester.over.aborted) this.#setup.options.onError?.(thrown);
    return { code: -32603, message: "Internal error" };
  }
}
