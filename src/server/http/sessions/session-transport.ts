import {
  WebStandardStreamableHTTPServerTransport,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/server";
import { relatedTaskOf } from "../../../generation/2025-11-25/related-task.ts";
import { relatedTaskOf as relatedSepTaskOf } from "../../../generation/sep-1686/related-task.ts";
import { isJsonObject } from "../../../generation/json-object.ts";

/**
 * The SDK's transport of one session, which tells what it answers, and asks where the client hears it. The SDK's own
 * `elicitInput` and its like say nothing of the call that they belong to, and what is sent on a stream that is not
 * open never arrives.
 */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** Called before the answer to a request is sent. */
  onanswer?: (request: RequestId) => void;

  /** Called before a question of the handler of `call` is sent; where that did not say which call, with undefined. */
  onquestion?: (question: RequestId, call: RequestId | undefined) => void;

  /** Called before the client is told that a question needs no answer. */
  onwithdrawal?: (question: RequestId) => void;

  /** Does `work`, which sends on the stream of `request`. */
  on: <T>(request: RequestId, work: () => T) => T = (_, work) => work();

  /** The request on whose stream to ask, where no other is open; undefined: there is none, or another is open. */
  instead?: () => RequestId | undefined;

  override async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    if (!("method" in message)) {
      if (message.id !== undefined) this.onanswer?.(message.id);
      return super.send(message, options);
    }
    this.#tell(message, options?.relatedRequestId);
    const related = options?.relatedRequestId ?? ("id" in message ? this.instead?.() : undefined);
    if (related === undefined) return super.send(message, options);
    return this.on(related, () => super.send(message, { ...options, relatedRequestId: related }));
  }

  #tell(message: JSONRPCMessage, call: RequestId | undefined): void {
    if (!("method" in message)) return;
    const params = isJsonObject(message.params) ? message.params : {};
    if (!("id" in message)) {
      const { requestId } = params;
      const isId = typeof requestId === "string" || typeof requestId === "number";
      if (message.method === "notifications/cancelled" && isId) this.onwithdrawal?.(requestId);
    } else if (relatedTaskOf(params) === undefined && relatedSepTaskOf(params) === undefined) {
      // A task waits for its client beyond all calls.
      this.onquestion?.(message.id, call);
    }
  }

  /**
   * Ends the stream of a request that was cancelled, which is not answered. Without this, the stream stays open as
   * long as the session: the SDK ends streams by their answers only.
   */
  async endUnanswered(request: RequestId): Promise<void> {
    this.closeSSEStream(request);
    // With the stream closed it reaches nobody; it is how the SDK comes to forget the request.
    await this.answerCancelled(request);
  }

  /** Answers a request that was cancelled, for the SDK and the response wait for an answer. */
  answerCancelled(request: RequestId): Promise<void> {
    return this.send({ jsonrpc: "2.0", id: request, error: { code: -32603, message: "Cancelled" } });
  }
}
