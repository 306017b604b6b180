import {
  WebStandardStreamableHTTPServerTransport,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/server";
import { relatedTaskOf } from "../../../generation/2025-11-25/related-task.ts";
import { relatedTaskOf as relatedSepTaskOf } from "../../../generation/sep-1686/related-task.ts";
import { isJsonObject } from "../../../generation/json-object.ts";

/**
 * The SDK's transport of one session, which reports answers and questions, and sends a question on a stream that is open:
 * the SDK's own `elicitInput` and its like do not say to which call they belong.
 */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** Called before the answer to a request is sent. */
  onanswer?: (request: RequestId) => void;

  /** Called before a question is sent, with the call whose handler asks, if that is known. */
  onquestion?: (question: RequestId, call: RequestId | undefined) => void;

  /** Called before the client is notified that a question was withdrawn. */
  onwithdrawal?: (question: RequestId) => void;

  /** Runs `work`, which sends on the stream of `request`. */
  on: <T>(request: RequestId, work: () => T) => T = (_, work) => work();

  /** The request on whose stream to ask if the standalone stream is closed; undefined if there is none. */
  instead?: () => RequestId | undefined;

  override async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    if (!("method" in message)) {
      if (message.id !== undefined) this.onanswer?.(message.id);
      return super.send(message, options);
    }
    this.#report(message, options?.relatedRequestId);
    const related = options?.relatedRequestId ?? ("id" in message ? this.instead?.() : undefined);
    if (related === undefined) return super.send(message, options);
    return this.on(related, () => super.send(message, { ...options, relatedRequestId: related }));
  }

  #report(message: JSONRPCMessage, call: RequestId | undefined): void {
    if (!("method" in message)) return;
    const params = isJsonObject(message.params) ? message.params : {};
    if (!("id" in message)) {
      const { requestId } = params;
      const isId = typeof requestId === "string" || typeof requestId === "number";
      if (message.method === "notifications/cancelled" && isId) this.onwithdrawal?.(requestId);
    } else if (relatedTaskOf(params) === undefined && relatedSepTaskOf(params) === undefined) {
      // Not the question of a task, which is of no call.
      this.onquestion?.(message.id, call);
    }
  }

  /**
   * Ends the stream of a cancelled request, which is not answered. The SDK would leave it open as long as the session.
   */
  async endUnanswered(request: RequestId): Promise<void> {
    this.closeSSEStream(request);
    // On a closed stream it is not sent, but the SDK forgets the request.
    await this.answerCancelled(request);
  }

  /** Answers a cancelled request, since the SDK and the response wait for an answer. */
  answerCancelled(request: RequestId): Promise<void> {
    return this.send({ jsonrpc: "2.0", id: request, error: { code: -32603, message: "Cancelled" } });
  }
}
