import {
  ProtocolError,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type RequestId,
} from "@modelcontextprotocol/server";
import type { OtherRequest, Registry } from "../../runtime/tool/registry.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { HoldfastError } from "../../task/fault.ts";
import { taskId } from "../../task/task-id.ts";
import type { Answer } from "../answer.ts";
import type { DispatchContext } from "../dispatch/dispatch-transport.ts";
import { answerAsTask } from "./answer-as-task.ts";
import type { SepSession } from "./sep-session.ts";

/** Forwards the request of a task to the author's server; the signal aborts when the task is cancelled. */
type Forward = (signal: AbortSignal) => Promise<object>;

const methods: readonly OtherRequest[] = ["resources/read", "prompts/get"];

/**
 * Runs the tasks whose requests an author's server answers. That server belongs to the connection of the request and cannot be
 * made again, so a task whose connection ended fails.
 */
export class RequestForwarder {
  /** By task. */
  readonly #forwards = new Map<string, Forward>();

  constructor(registry: Registry) {
    for (const method of methods) registry.addOther(method, (_params, task) => this.#run(method, task));
  }

  /** Runs the task of this id with `forward`; returns a function that removes it. */
  add(task: string, forward: Forward): () => void {
    this.#forwards.set(task, forward);
    return () => this.#forwards.delete(task);
  }

  async #run(method: OtherRequest, { id, signal }: TaskContext): Promise<object> {
    const forward = this.#forwards.get(id);
    if (forward !== undefined) return forward(signal);
    throw new HoldfastError(
      "internal",
      `The connection that sent this ${method} request has closed, and no other can answer it. Send the request again as a new task.`,
    );
  }
}

/**
 * The requests of one connection that the author's server answers inside a task: the SDK gets such a request when its task
 * runs, and the SDK's answer becomes the outcome of the task.
 */
export class ForwardedRequests {
  readonly #session: SepSession;
  readonly #forwarder: RequestForwarder;
  /** The SDK's answers, by request. */
  readonly #answers = new Map<RequestId, PromiseWithResolvers<object>>();

  constructor(session: SepSession, forwarder: RequestForwarder) {
    this.#session = session;
    this.#forwarder = forwarder;
  }

  /** Answers a request with the outcome of a task of its own; rejects as `answerAsTask` does. */
  async answer(
    { id, params = {}, ...message }: JSONRPCRequest,
    method: OtherRequest,
    { signal, forward, trace }: DispatchContext,
  ): Promise<Answer> {
    if (this.#answers.has(id)) {
      // The SDK's answers to the two could not be told apart, and one of the tasks would never end.
      throw new HoldfastError(
        "invalid_request",
        "An earlier request with this id has not been answered yet.",
      );
    }
    const answer = Promise.withResolvers<object>();
    answer.promise.catch(() => undefined);
    const forget = (): void => {
      if (this.#answers.get(id) === answer) this.#answers.delete(id); // a newer request may use the id of a cancelled one
    };
    this.#answers.set(id, answer);
    signal.addEventListener("abort", forget, { once: true });
    const { clock } = this.#session.runtime;
    const task = taskId(clock.now(), (size) => clock.randomBytes(size));
    const remove = this.#forwarder.add(task, (cancelled) =>
      this.#forward({ ...message, id, params }, { answer, forward, cancelled }),
    );
    const { _meta, ...asked } = params;
    const work = { id: task, method, tool: method, arguments: asked };
    try {
      return await answerAsTask(work, { id, params, signal, trace }, this.#session);
    } finally {
      signal.removeEventListener("abort", forget);
      forget();
      remove();
    }
  }

  /** Whether an answer of the SDK is that to a forwarded request, and must not be sent. */
  intercepts(message: JSONRPCResponse): boolean {
    const answer = message.id === undefined ? undefined : this.#answers.get(message.id);
    if (message.id === undefined || answer === undefined) return false;
    this.#answers.delete(message.id);
    if ("result" in message) answer.resolve(message.result);
    else answer.reject(new ProtocolError(message.error.code, message.error.message, message.error.data));
    return true;
  }

  async #forward(
    request: JSONRPCRequest,
    {
      answer,
      forward,
      cancelled,
    }: Pick<DispatchContext, "forward"> & { answer: PromiseWithResolvers<object>; cancelled: AbortSignal },
  ): Promise<object> {
    const { closing } = this.#session.connection;
    const onCancelled = (): void => {
      forward({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: request.id } });
      answer.reject(cancelled.reason);
    };
    const onClosing = (): void =>
      answer.reject(new HoldfastError("internal", "The connection that sent the request has closed."));
    cancelled.addEventListener("abort", onCancelled, { once: true });
    closing.addEventListener("abort", onClosing, { once: true });
    try {
      cancelled.throwIfAborted();
      if (closing.aborted) onClosing();
      else forward(request);
      return await answer.promise;
    } finally {
      cancelled.removeEventListener("abort", onCancelled);
      closing.removeEventListener("abort", onClosing);
    }
  }
}
