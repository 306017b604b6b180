import type { JSONRPCNotification, RequestId } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../generation/json-object.ts";
import { errorReporter, type OnError } from "../../../runtime/error-reporter.ts";
import { HoldfastError, jsonRpcCodeOf } from "../../../task/fault.ts";
import type { JsonRpcError } from "../../../task/outcome.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";

export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/** Ends the work on a request that the server took back. */
export class TakenBack extends Error {
  override readonly name = "TakenBack";
}

/** One request that waits for its answer. */
interface Waiting {
  readonly controller: AbortController;
  /** Its id means something in that session alone. */
  readonly session: number;
}

/** A server's requests that are answered here and not by the SDK's client, until their answers are out. */
export class ReceivedRequests {
  readonly #requester: RawRequester;
  readonly #onError: OnError;
  readonly #waiting = new Map<RequestId, Waiting>();
  readonly #afterAnswer = new Map<RequestId, () => void>();
  readonly #leave: () => void;

  constructor(requester: RawRequester, onError: OnError | undefined) {
    this.#requester = requester;
    this.#onError = errorReporter(onError);
    this.#leave = requester.takers.onNotification((notification) => this.#hear(notification));
  }

  /** No request is answered any more. */
  close(): void {
    this.#leave();
    for (const { controller } of this.#waiting.values())
      controller.abort(new Error("The connection has ended"));
  }

  /** Runs `action` once the result of this request is out. */
  afterResult(id: RequestId, action: () => void): void {
    this.#afterAnswer.set(id, action);
  }

  /** Answers with what `work` resolves with; its signal aborts with `TakenBack`, or with the end of the connection. */
  answer(id: RequestId, work: (signal: AbortSignal) => Promise<Answer>): void {
    const requester = this.#requester;
    const { session } = requester;
    const controller = new AbortController();
    const waiting = { controller, session };
    this.#waiting.set(id, waiting);
    work(AbortSignal.any([controller.signal, requester.over]))
      .catch((error: unknown): Answer => ({ error: this.#errorOf(error) }))
      .then(async (answer) => {
        // Nobody waits for it, or nobody knows the request any more.
        if (controller.signal.aborted || requester.over.aborted || session !== requester.session) return;
        const message = "result" in answer ? { result: { ...answer.result } } : { error: answer.error };
        const { kind } = await requester.tell({ jsonrpc: "2.0", id, ...message });
        if (kind === "value" && "result" in answer) this.#afterAnswer.get(id)?.();
      })
      .catch(() => undefined) // the connection is over
      .finally(() => {
        if (this.#waiting.get(id) !== waiting) return;
        this.#afterAnswer.delete(id);
        this.#waiting.delete(id);
      });
  }

  /** It may interest others too. */
  #hear({ method, params }: JSONRPCNotification): boolean {
    const id = params?.["requestId"];
    if (method !== "notifications/cancelled" || (typeof id !== "string" && typeof id !== "number"))
      return false;
    const waiting = this.#waiting.get(id);
    if (waiting?.session === this.#requester.session)
      waiting.controller.abort(new TakenBack("The server withdrew the request"));
    return false;
  }

  #errorOf(thrown: unknown): JsonRpcError {
    if (thrown instanceof HoldfastError) {
      const code = jsonRpcCodeOf(thrown.code);
      const { message, data } = thrown;
      if (code !== -32603) return { code, message, ...(data !== undefined && { data }) };
    }
    if (!(thrown instanceof TakenBack) && !this.#requester.over.aborted) this.#onError(thrown);
    return { code: -32603, message: "Internal error" };
  }
}
