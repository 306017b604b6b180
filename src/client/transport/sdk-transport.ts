import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { RawRequester } from "./raw-requester.ts";

export interface MessageRewrites {
  /** Changes each message of the SDK's client before it is sent. */
  readonly rewriteOutgoing: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Changes each message before the SDK's client gets it. */
  readonly rewriteIncoming: (message: JSONRPCMessage) => JSONRPCMessage;
}

/** The transport of the SDK's client, on a connection that it shares: it gets what is not for the requester. */
export class SdkTransport implements Transport {
  readonly hasPerRequestStream: boolean;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #requester: RawRequester;
  readonly #rewrites: MessageRewrites;

  constructor(requester: RawRequester, rewrites: MessageRewrites) {
    this.#requester = requester;
    this.#rewrites = rewrites;
    this.hasPerRequestStream = requester.hasPerRequestStream;
    requester.listener = {
      onMessage: (message, extra) => this.onmessage?.(rewrites.rewriteIncoming(message), extra),
      onError: (error) => this.onerror?.(error),
      onClosed: () => this.onclose?.(),
    };
  }

  get sessionId(): string | undefined {
    return this.#requester.sessionId;
  }

  async start(): Promise<void> {
    await this.#requester.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    await this.#requester.send(this.#rewrites.rewriteOutgoing(message), options);
  }

  /** Resolves when the connection is closed, and the process that was started for it has ended. */
  async close(): Promise<void> {
    await this.#requester.close();
  }

  setProtocolVersion(version: string): void {
    this.#requester.setProtocolVersion(version);
  }
}
