import {
  WebStandardStreamableHTTPServerTransport,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/server";

/**
 * The SDK's transport of one session, which tells what it answers, and asks where the client hears it. The SDK's own
 * `elicitInput` and its like say nothing of the call that they belong to, and what is sent on a stream that is not
 * open never arrives.
 */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** Called before the answer to a request is sent. */
  onanswer?: (request: RequestId) => void;

  /** The request on whose stream to ask, where no other is open; undefined: there is none, or another is open. */
  instead?: () => RequestId | undefined;

  override async send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    if (!("method" in message)) {
      if (message.id !== undefined) this.onanswer?.(message.id);
      return super.send(message, options);
    }
    const related = options?.relatedRequestId ?? ("id" in message ? this.instead?.() : undefined);
    return super.send(message, related === undefined ? options : { ...options, relatedRequestId: related });
  }

  /**
   * Ends the stream of a request that was cancelled, which is not answered. Without this, the stream stays open as
   * long as the session: the SDK ends streams by their answers only.
   */
  async endUnanswered(request: RequestId): Promise<void> {
    this.closeSSEStream(request);
    // With the stream closed it reaches nobody; it is how the SDK comes to forget the request.
    await this.send({ jsonrpc: "2.0", id: request, error: { code: -32603, message: "Cancelled" } });
  }
}
