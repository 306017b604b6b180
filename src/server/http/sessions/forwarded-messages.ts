import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import type { OnError } from "../../faults.ts";
import type { ServerRequestIds } from "./server-request-ids.ts";
import type { SessionRecords } from "./session-records.ts";

/** A message of a client that came to another process. */
export interface Forwarded {
  readonly message: JSONRPCMessage;
  /** The scopes of its token; undefined if tokens have none. */
  readonly scopes: readonly string[] | undefined;
}

/** One session in one process. */
interface Place {
  /** The name of the session in the store. */
  readonly key: string;
  /** Another one in each process. */
  readonly name: string;
  readonly ids: ServerRequestIds;
  /** Whether the session began in another process. */
  readonly isRestored: boolean;
  readonly onError: OnError;
}

/**
 * Messages of a client that other processes need which serve the same session: answers to what they asked, cancels of requests
 * that they answer, and news for their author's servers.
 */
export class ForwardedMessages {
  readonly #place: Place;
  /** Undefined if no other process knows of the session. */
  readonly #records: SessionRecords | undefined;

  constructor(place: Place, records: SessionRecords | undefined) {
    this.#place = place;
    this.#records = records;
  }

  /** Passes messages that the client sent here to other processes that may need them; resolves with false on failure. */
  async passOn(messages: readonly JSONRPCMessage[], scopes: readonly string[] | undefined): Promise<boolean> {
    const { key, name, onError } = this.#place;
    if (this.#records === undefined) return true;
    try {
      for (const message of messages) {
        if (!this.#isForOthers(message)) continue;
        await this.#records.tell(key, JSON.stringify({ from: name, message, scopes }));
      }
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  /** A message that another process forwarded; undefined for one from this process, and for one that has no use here. */
  decode(text: string): Forwarded | undefined {
    const { from, message, scopes } = JSON.parse(text) as Forwarded & { readonly from: string };
    if (from === this.#place.name) return undefined;
    return this.#isWanted(message) ? { message, scopes } : undefined;
  }

  #isForOthers(message: JSONRPCMessage): boolean {
    const { ids, isRestored } = this.#place;
    if (!("method" in message)) return message.id !== undefined && ids.isOfAnother(message.id);
    switch (message.method) {
      case "notifications/cancelled": // the client may have resumed the request in one process, and cancel it in another
      case "notifications/roots/list_changed":
        return true;
      case "notifications/initialized": // for the process that answered the handshake
        return isRestored;
      default:
        return false;
    }
  }

  #isWanted(message: JSONRPCMessage): boolean {
    const { ids, isRestored } = this.#place;
    if (!("method" in message)) return message.id !== undefined && ids.isOurs(message.id);
    return message.method !== "notifications/initialized" || !isRestored;
  }
}
