import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { askUser, type UserCallbacks } from "../question/ask-user.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/** What a server is told that no answer can be had to its question. */
const notAnswered = { code: -32603, message: "The question could not be answered." };

/** A server's questions that belong to no task: they come within a call, and go on in it. */
export class LooseQuestions {
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
    this.#answer(request, AbortSignal.any([controller.signal, this.#requester.over]))
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
      // What the callback for failures throws has nobody else to go to; the server is told in any case.
      if (!signal.aborted) await requester.tell({ jsonrpc: "2.0", id, ...message });
    }
  }
}
