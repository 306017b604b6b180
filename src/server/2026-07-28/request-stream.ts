import type { AnswerEnd } from "../dispatch/after-answers.ts";

/** The way to the sender of one request, as long as the request is open. */
export interface RequestStream {
  /** Sends a notification ahead of the answer; one that does not arrive is lost. */
  notify(method: string, params: object): void;
  /** Runs `action` once the answer is sent, or never will be. */
  afterAnswer(action: (end: AnswerEnd) => void): void;
  /**
   * After the signal of a request aborted: what its client did; undefined if it did nothing, because the server stops or the connection
   * ended.
   */
  readonly leftBy: "closing" | "cancelling" | undefined;
}
