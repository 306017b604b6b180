import type { JSONRPCNotification, RequestId } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../generation/message.ts";
import { errorReporter, type OnError } from "../../../runtime/error-reporter.ts";
import { HoldfastError, jsonRpcCodeOf } from "../../../task/fault.ts";
import type { JsonRpcError } from "../../../task/outcome.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";

export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/** The abort reason of a request that the server cancelled. */
export class RequestWithdrawn extends Error {
  override readonly name = "RequestWithdrawn";
}

/** A request that is not answered yet. */
interface PendingRequest {
  readonly controller: AbortController;
  /** Its session: the id is unique only there. */
  readonly session: number;
}

/** The server's requests that this client answers itself, instead of the SDK's client. */
export class ReceivedRequests {
  readonly #requester: RawRequester;
  readonly #onError: OnError;
  readonly #pending = new Map<RequestId, PendingRequest>();
  readonly #afterAnswer = new Map<RequestId, () => void>();
  readonly #removeHandler: () => void;

  constructor(requester: RawRequester, onError: OnError | undefined) {
    this.#requester = requester;
    this.#onError = errorReporter(onError);
    this.#removeHandler = requester.handlers.onNotification((notification) =>
      this.#onNotification(notification),
    );
  }

  /** Aborts all requests without an answer. */
  close(): void {
    this.#removeHandler();
    for (const { controller } of this.#pending.values())
      controller.abort(new Error("The connection has ended"));
  }

  /** Runs `action` after the result of this request was sent. */
  afterResult(id: RequestId, action: () => void): void {
    this.#afterAnswer.set(id, action);
  }

  /** Answers with the result of `work`. Its signal aborts with `RequestWithdrawn`, or when the connection ends. */
  answer(id: RequestId, work: (signal: AbortSignal) => Promise<Answer>): void {
    const requester = this.#requester;
    const { session } = requester;
    const controller = new AbortController();
    const pending = { controller, session };
    this.#pending.set(id, pending);
    work(AbortSignal.any([controller.signal, requester.closed]))
      .catch((error: unknown): Answer => ({ error: this.#errorOf(error) }))
      .then(async (answer) => {
        // The server no longer waits for the answer.
        if (controller.signal.aborted || requester.closed.aborted || session !== requester.session) return;
        const message = "result" in answer ? { result: { ...answer.result } } : { error: answer.error };
        const { kind } = await requester.sendOnce({ jsonrpc: "2.0", id, ...message });
        if (kind === "value" && "result" in answer) this.#afterAnswer.get(id)?.();
      })
      .catch(() => undefined) // the connection is over
      .finally(() => {
        if (this.#pending.get(id) !== pending) return;
        this.#afterAnswer.delete(id);
        this.#pending.delete(id);
      });
  }

  /** Returns false: other handlers get it too. */
  #onNotification({ method, params }: JSONRPCNotification): boolean {
    const id = params?.["requestId"];
    if (method !== "notifications/cancelled" || (typeof id !== "string" && typeof id !== "number"))
      return false;
    const pending = this.#pending.get(id);
    if (pending?.session === this.#requester.session)
      pending.controller.abort(new RequestWithdrawn("The server withdrew the request"));
    return false;
  }

  #errorOf(thrown: unknown): JsonRpcError {
    if (thrown instanceof HoldfastError) {
      const code = jsonRpcCodeOf(thrown.code);
      const { message, data } = thrown;
      if (code !== -32603) return { code, message, ...(data !== undefined && { data }) };
    }
    if (!(thrown instanceof RequestWithdrawn) && !this.#requester.closed.aborted) this.#onError(thrown);
    return { code: -32603, message: "Internal error" };
  }
}
