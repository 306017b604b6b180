import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { askUser, type UserCallbacks } from "../question/ask-user.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** The error for a question that could not be answered. */
const notAnswered = { code: -32603, message: "The question could not be answered." };

/** A server's questions that belong to no task, but to a plain call. */
export class QuestionsWithoutTask {
  readonly #requester: RawRequester;
  readonly #callbacks: UserCallbacks;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(requester: RawRequester, callbacks: UserCallbacks) {
    this.#requester = requester;
    this.#callbacks = callbacks;
  }

  ask(request: JSONRPCRequest): void {
    const controller = new AbortController();
    this.#open.set(request.id, controller);
    this.#answer(request, AbortSignal.any([controller.signal, this.#requester.closed]))
      .catch(() => undefined)
      .finally(() => {
        if (this.#open.get(request.id) === controller) this.#open.delete(request.id);
      });
  }

  withdraw(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.abort(new Error("The server withdrew the question"));
  }

  async #answer({ id, method, params = {} }: JSONRPCRequest, signal: AbortSignal): Promise<void> {
    const requester = this.#requester;
    let message: { result: Record<string, unknown> } | { error: typeof notAnswered } = { error: notAnswered };
    try {
      const question = { key: String(id), method, params, taskId: null };
      const answer = await askUser(question, this.#callbacks, signal);
      if (answer.kind === "answer") message = { result: { ...answer.result } };
    } finally {
      // The server gets an answer even if `onInputError` throws.
      if (!signal.aborted) await requester.sendOnce({ jsonrpc: "2.0", id, ...message });
    }
  }
}
