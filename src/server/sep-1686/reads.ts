import {
  ProtocolError,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from "@modelcontextprotocol/server";
import { asksForTask } from "../../generation/sep-1686/create.ts";
import type { OtherRequest } from "../../runtime/tool/registry.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { taskId } from "../../task/task-id.ts";
import type { ErrorOf } from "../answer.ts";
import type { Forward, Holder } from "../intercept.ts";
import { answerAsTask } from "./answer-as-task.ts";
import type { HeldRequests, Run } from "./held-requests.ts";
import type { Party } from "./party.ts";

export interface ReadsSetup {
  readonly party: Party | undefined;
  readonly held: HeldRequests;
  /** Whether the author's server answers such requests. */
  readonly serves: (method: OtherRequest) => boolean;
  readonly onTask: () => void;
  readonly errorOf: ErrorOf;
}

interface Held {
  readonly cancelled: AbortController;
  /** What the author's server answers. */
  readonly answer: PromiseWithResolvers<object>;
}

/**
 * The requests of one connection that the author's server answers inside of a task: the SDK sees such a request when its task
 * runs, and its answer goes to the task first.
 */
export class Reads implements Holder {
  readonly #setup: ReadsSetup;
  readonly #held = new Map<RequestId, Held>();

  constructor(setup: ReadsSetup) {
    this.#setup = setup;
  }

  holds(request: JSONRPCRequest, forward: Forward): boolean {
    const { method, params } = request;
    const { party } = this.#setup;
    if (method !== "resources/read" && method !== "prompts/get") return false;
    if (party === undefined || !asksForTask(params) || !this.#setup.serves(method)) return false;
    this.#setup.onTask();
    if (this.#held.has(request.id)) {
      // The SDK's answer to either would be taken for the other's, and one of the two tasks would never end.
      const again = new HoldfastError("invalid_request", "A request with this id is not answered yet.");
      party.connection.respond(request.id, { error: this.#setup.errorOf(again) });
      return true;
    }
    const held: Held = { cancelled: new AbortController(), answer: Promise.withResolvers() };
    held.answer.promise.catch(() => undefined);
    this.#held.set(request.id, held);
    void this.#serve(request, method, held, party, forward);
    return true;
  }

  answered(message: JSONRPCMessage): boolean {
    if ("method" in message || message.id === undefined) return false;
    const held = this.#held.get(message.id);
    if (held === undefined) return false;
    this.#held.delete(message.id);
    if ("result" in message) held.answer.resolve(message.result);
    else held.answer.reject(protocolError(message.error));
    return true;
  }

  cancelled(request: unknown): void {
    const held = this.#held.get(request as RequestId);
    this.#held.delete(request as RequestId);
    held?.cancelled.abort(new DOMException("The request was cancelled.", "AbortError"));
  }

  async #serve(
    { id, params = {}, ...message }: JSONRPCRequest,
    method: OtherRequest,
    held: Held,
    party: Party,
    forward: Forward,
  ): Promise<void> {
    const { connection, runtime } = party;
    const signal = AbortSignal.any([held.cancelled.signal, connection.closing]);
    const run: Run = async (over) => {
      const onOver = (): void => {
        forward({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
        held.answer.reject(over.reason);
      };
      const onClosing = (): void =>
        held.answer.reject(
          new HoldfastError("internal", "The connection on which the request came has ended."),
        );
      over.addEventListener("abort", onOver, { once: true });
      connection.closing.addEventListener("abort", onClosing, { once: true });
      try {
        over.throwIfAborted();
        if (connection.closing.aborted) onClosing();
        else forward({ ...message, id, params });
        return await held.answer.promise;
      } finally {
        over.removeEventListener("abort", onOver);
        connection.closing.removeEventListener("abort", onClosing);
      }
    };
    const { clock } = runtime;
    const task = taskId(clock.now(), (size) => clock.randomBytes(size));
    const forget = this.#setup.held.hold(task, run);
    const { _meta, ...asked } = params;
    const work = { id: task, method, tool: method, arguments: asked };
    try {
      const answer = await answerAsTask(work, { id, params, signal }, party);
      connection.respond(id, answer);
    } catch (error) {
      if (!signal.aborted) connection.respond(id, { error: this.#setup.errorOf(error) });
    } finally {
      if (this.#held.get(id) === held) this.#held.delete(id); // the id of a cancelled one may be another's by now
      forget();
    }
  }
}

function protocolError({ code, message, data }: JsonRpcError): ProtocolError {
  return new ProtocolError(code, message, data);
}
