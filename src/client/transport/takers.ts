import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest } from "@modelcontextprotocol/client";
import { isJSONRPCNotification, isJSONRPCRequest } from "@modelcontextprotocol/client";

/** Takes a message from the server, or says that it is not its own. */
export type Taker<Message> = (message: Message) => boolean;

/** Those who look at what a server sends by itself, before the SDK's client does. */
export class Takers {
  readonly #notifications = new Set<Taker<JSONRPCNotification>>();
  readonly #requests = new Set<Taker<JSONRPCRequest>>();

  /** Shows each notification to `taker` until one of them takes it; returns the way to stop that. */
  onNotification(taker: Taker<JSONRPCNotification>): () => void {
    this.#notifications.add(taker);
    return () => this.#notifications.delete(taker);
  }

  /** The same for requests; whoever came last is shown them first. */
  onRequest(taker: Taker<JSONRPCRequest>): () => void {
    this.#requests.add(taker);
    return () => this.#requests.delete(taker);
  }

  take(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return [...this.#notifications].some((taker) => taker(message));
    if (!isJSONRPCRequest(message)) return false;
    return [...this.#requests].toReversed().some((taker) => taker(message));
  }
}
