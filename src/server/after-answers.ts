import type { RequestId } from "@modelcontextprotocol/server";

/**
 * What became of an answer. `sent`: its client has it, as far as a transport can tell. `kept`: its stream is gone, and the
 * client may come back for it. `lost`: there is none any more, or it could not be sent.
 */
export type AnswerEnd = "sent" | "kept" | "lost";

/** What is to happen once the answer to a request is out, or never will be. */
export class AfterAnswers {
  readonly #actions = new Map<RequestId, (end: AnswerEnd) => void>();
  /** Of answers that a transport is taking, what it means when it does. */
  readonly #goingOut = new Map<RequestId, AnswerEnd>();

  /** Runs `action` once. An id that is used again means the new request. */
  add(request: RequestId, action: (end: AnswerEnd) => void): void {
    const earlier = this.#actions.get(request);
    this.#actions.set(request, (end) => {
      earlier?.(end);
      action(end);
    });
  }

  /** The answer to `request` is handed to the transport, which may close on it before it says that it took it. */
  goesOut(request: RequestId, end: AnswerEnd): void {
    if (this.#actions.has(request)) this.#goingOut.set(request, end);
  }

  /** The answer to `request` went out, or never will. */
  end(request: RequestId, end: AnswerEnd): void {
    this.#goingOut.delete(request);
    const action = this.#actions.get(request);
    this.#actions.delete(request);
    action?.(end);
  }

  close(): void {
    for (const request of this.#actions.keys()) this.end(request, this.#goingOut.get(request) ?? "lost");
  }
}
