import type { RequestId } from "@modelcontextprotocol/server";

/**
 * What happened to an answer. `sent`: as far as the transport knows, the client has it. `kept`: its stream broke, and the client may resume
 * it. `lost`: it could not be sent, or the request was cancelled.
 */
export type AnswerEnd = "sent" | "kept" | "lost";

/** Actions that run once when the answer to a request was sent, or will never be. */
export class AfterAnswers {
  readonly #actions = new Map<RequestId, (end: AnswerEnd) => void>();
  /** Requests whose answers the transport is sending. */
  readonly #sending = new Set<RequestId>();
  #closed = false;

  /** An id that is used again means the new request. */
  add(request: RequestId, action: (end: AnswerEnd) => void): void {
    if (this.#closed) return action("lost");
    const earlier = this.#actions.get(request);
    this.#actions.set(request, (end) => {
      earlier?.(end);
      action(end);
    });
  }

  /** The transport gets the answer. If it closes before it confirms that, the answer counts as sent. */
  sending(request: RequestId): void {
    if (this.#actions.has(request)) this.#sending.add(request);
  }

  end(request: RequestId, end: AnswerEnd): void {
    this.#sending.delete(request);
    const action = this.#actions.get(request);
    this.#actions.delete(request);
    action?.(end);
  }

  close(): void {
    this.#closed = true;
    for (const request of this.#actions.keys())
      this.end(request, this.#sending.has(request) ? "sent" : "lost");
  }
}
