import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { asksForTask } from "../../../generation/sep-1686/create.ts";
import { taskMethods } from "../../../generation/sep-1686/methods.ts";
import { generation } from "../../../generation/sep-1686/name.ts";
import { Arrivals } from "../../session/arrivals.ts";
import { questionMethods } from "../../session/receiver/question-tools.ts";
import { ReceivedRequests } from "../../session/receiver/received-requests.ts";
import type { ReceiverSetup } from "../../session/receiver/receiver-setup.ts";
import type { SharedRuntime } from "../../session/receiver/shared-runtime.ts";
import { answerAboutTask } from "./answer-about-task.ts";
import type { Party } from "./own-task.ts";
import { runQuestion } from "./run-question.ts";

/** The client as the one that runs tasks of SEP-1686: under the server's ids, and answered in the end as if there were none. */
export class SepReceiver {
  readonly #setup: ReceiverSetup;
  readonly #shared: SharedRuntime;
  readonly #party: Party;
  readonly #requests: ReceivedRequests;
  readonly #arrivals = new Arrivals();
  readonly #leave: readonly (() => void)[];
  #closing: Promise<void> | undefined;

  constructor(setup: ReceiverSetup, shared: SharedRuntime) {
    const { requester, server, callbacks, options } = setup;
    this.#setup = setup;
    this.#shared = shared;
    const { runtime } = shared;
    this.#party = { runtime, requestor: { generation, principal: server }, scope: server };
    this.#requests = new ReceivedRequests(requester, options.onError);
    this.#leave = [
      shared.seats.take(server, callbacks),
      requester.takers.onRequest((request) => this.#take(request)),
    ];
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
    const { requester, server, callbacks } = this.#setup;
    const { id, method, params = {} } = request;
    const about = taskMethods.find((known) => known === method);
    if (about !== undefined) {
      this.#requests.answer(id, async () => answerAboutTask(about, params, this.#party));
      return true;
    }
    // What this client does not declare, or nobody wants as a task, is answered as ever (S-009).
    const isQuestion = questionMethods.some((known) => known === method);
    if (!isQuestion || !asksForTask(params) || !callbacks.declares({ method, params })) return false;
    // The same message twice is not a second request under its task's id.
    if (!this.#arrivals.isFirst(id, requester.session)) return true;
    const asking = { ...this.#party, requester, server };
    this.#requests.answer(id, async (signal) => runQuestion(asking, request, signal));
    return true;
  }
}
