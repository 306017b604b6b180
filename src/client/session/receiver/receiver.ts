import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import type { ReceiveTasksOptions } from "../../connect-options.ts";
import type { UserCallbacks } from "../../question/ask-user.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";
import { RequestDeduplicator } from "../request-deduplicator.ts";
import { questionMethods, type Question } from "./question-tools.ts";
import { ReceivedRequests, type Answer } from "./received-requests.ts";
import type { SharedRuntime } from "./shared-runtime.ts";

/** What a receiver needs to run a server's questions as tasks on one connection. */
export interface ReceiverOptions {
  readonly requester: RawRequester;
  /** The server's name in this client. Its tasks are hidden from other servers (C-118, S-085). */
  readonly server: string;
  readonly callbacks: UserCallbacks;
  readonly options: ReceiveTasksOptions;
}

export interface ReceiverParts extends ReceiverOptions {
  readonly shared: SharedRuntime;
  readonly requests: ReceivedRequests;
  /** Called when the connection has ended. */
  readonly cleanups: Set<() => void>;
}

export type Work = (signal: AbortSignal) => Promise<Answer>;

/** How a generation lets a client run a server's questions as tasks. */
export interface ReceivedTasks {
  /** Answers a `tasks/*` request about such tasks; undefined for any other request. */
  aboutTask(request: JSONRPCRequest): Work | undefined;
  /** Answers a question that asks for a task; undefined for one that is answered as a plain request. */
  question(question: Question): Work | undefined;
}

export type MakeReceivedTasks = (parts: ReceiverParts) => ReceivedTasks;

/** Runs a server's questions as tasks in this client (it is the receiver of the tasks). */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #shared: SharedRuntime;
  readonly #requests: ReceivedRequests;
  readonly #tasks: ReceivedTasks;
  readonly #deduplicator = new RequestDeduplicator();
  readonly #cleanups: Set<() => void>;
  #closing: Promise<void> | undefined;

  constructor(options: ReceiverOptions, shared: SharedRuntime, makeTasks: MakeReceivedTasks) {
    const { requester, server, callbacks } = options;
    this.#options = options;
    this.#shared = shared;
    this.#requests = new ReceivedRequests(requester, options.options.onError);
    this.#cleanups = new Set([
      shared.responders.add(server, callbacks),
      requester.handlers.onRequest((request) => this.#onRequest(request)),
    ]);
    this.#tasks = makeTasks({ ...options, shared, requests: this.#requests, cleanups: this.#cleanups });
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
    const { requester, callbacks } = this.#options;
    const { id, params = {} } = request;
    const about = this.#tasks.aboutTask(request);
    if (about !== undefined) {
      this.#requests.answer(id, about);
      return true;
    }
    const method = questionMethods.find((known) => known === request.method);
    // A question that was not declared as a task is answered as a plain one (C-028, S-009).
    if (method === undefined || !callbacks.declares({ method, params })) return false;
    const work = this.#tasks.question({ id, method, params });
    if (work === undefined) return false;
    // A duplicate of the message is no second question.
    if (this.#deduplicator.isFirst(id, requester.session)) this.#requests.answer(id, work);
    return true;
  }
}
