import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { cancelledId } from "./requests-in.ts";

/** The form of the ids that name the process that asks: `holdfast-` for what is asked without the SDK. */
const form = /^(?:holdfast-)?(\w{8})-\d+$/;

/**
 * The SDK numbers the requests of an author's server from 0 in each process. In a session that moves to another process they get ids that
 * no other process uses, so that an answer to that process's question does not answer one of this process.
 */
export class ServerRequestIds {
  readonly #name: string;
  readonly #isRestored: boolean;

  /** `name`: another one in each process. `isRestored`: the session began in another one, which has the plain numbers. */
  constructor(name: string, isRestored: boolean) {
    this.#name = name;
    this.#isRestored = isRestored;
  }

  /** Whether a request of this process has the id. */
  isOurs(id: RequestId): boolean {
    const name = nameIn(id);
    return name === undefined ? isNumber(id) && !this.#isRestored : name === this.#name;
  }

  /** Whether a request of another process has the id. */
  isOfAnother(id: RequestId): boolean {
    return (nameIn(id) !== undefined || isNumber(id)) && !this.isOurs(id);
  }

  /** A message of the author's server, as its client gets it. */
  sent(message: JSONRPCMessage): JSONRPCMessage {
    if (!("method" in message) || !this.#isRestored) return message;
    if ("id" in message)
      return typeof message.id === "number" ? { ...message, id: this.#named(message.id) } : message;
    const cancelled = cancelledId(message);
    if (typeof cancelled !== "number") return message;
    return { ...message, params: { ...message.params, requestId: this.#named(cancelled) } };
  }

  /** A message of the client, as the author's server gets it; undefined for an answer to a request of another process. */
  received(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if ("method" in message || message.id === undefined) return message;
    const { id } = message;
    if (this.isOfAnother(id)) return undefined;
    const isNamed = this.#isRestored && typeof id === "string" && id.startsWith(`${this.#name}-`);
    return isNamed ? { ...message, id: Number(id.slice(this.#name.length + 1)) } : message;
  }

  #named(id: number): string {
    return `${this.#name}-${id}`;
  }
}

function nameIn(id: RequestId): string | undefined {
  return form.exec(String(id))?.[1];
}

/** The SDK takes "1" for 1. */
function isNumber(id: RequestId): boolean {
  return !Number.isNaN(Number(id));
}
