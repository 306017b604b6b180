import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { cancelledId } from "./requests-in.ts";

/**
 * The SDK numbers the requests of an author's server from 0, in each process again. In a session that goes on after a restart they get
 * ids that no earlier process has used: a late answer to an earlier question must not answer a new one.
 */
export class ServerRequestIds {
  readonly #prefix: string;

  /** `name` is another one in each process. */
  constructor(name: string) {
    this.#prefix = `${name}-`;
  }

  /** A message of the author's server, as its client gets it. */
  sent(message: JSONRPCMessage): JSONRPCMessage {
    if (!("method" in message)) return message;
    if ("id" in message)
      return typeof message.id === "number" ? { ...message, id: this.#name(message.id) } : message;
    const cancelled = cancelledId(message);
    if (typeof cancelled !== "number") return message;
    return { ...message, params: { ...message.params, requestId: this.#name(cancelled) } };
  }

  /** A message of the client, as the author's server gets it; undefined for an answer to a request of an earlier process. */
  received(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if ("method" in message || message.id === undefined) return message;
    const { id } = message;
    const isOurs = typeof id === "string" && id.startsWith(this.#prefix);
    if (isOurs) return { ...message, id: Number(id.slice(this.#prefix.length)) };
    return Number.isNaN(Number(id)) ? message : undefined; // the SDK takes "1" for 1
  }

  #name(id: number): string {
    return `${this.#prefix}${id}`;
  }
}
