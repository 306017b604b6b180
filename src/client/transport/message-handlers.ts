import {
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  isJSONRPCNotification,
  isJSONRPCRequest,
} from "@modelcontextprotocol/client";

/** Returns whether it handled the message. */
export type MessageHandler<Message> = (message: Message) => boolean;

/** Handlers of the server's own requests and notifications. They come before the SDK's client. */
export class MessageHandlers {
  readonly #notifications = new Set<MessageHandler<JSONRPCNotification>>();
  readonly #requests = new Set<MessageHandler<JSONRPCRequest>>();

  /** Adds a handler; the first that returns true ends the search. Returns a function that removes it. */
  onNotification(handler: MessageHandler<JSONRPCNotification>): () => void {
    this.#notifications.add(handler);
    return () => this.#notifications.delete(handler);
  }

  /** The same for requests, newest handler first. */
  onRequest(handler: MessageHandler<JSONRPCRequest>): () => void {
    this.#requests.add(handler);
    return () => this.#requests.delete(handler);
  }

  handle(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return [...this.#notifications].some((handler) => handler(message));
    if (!isJSONRPCRequest(message)) return false;
    return [...this.#requests].toReversed().some((handler) => handler(message));
  }
}
