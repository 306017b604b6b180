import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../../generation/message.ts";

/** The ids of the requests in a body, which is a message or a batch of them. */
export function requestIds(body: unknown): RequestId[] {
  return messagesOf(body).flatMap((message) =>
    isJsonObject(message) && typeof message["method"] === "string" && isId(message["id"])
      ? [message["id"]]
      : [],
  );
}

/** The id of the request that a message cancels. */
export function cancelledId(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.["requestId"];
  return isId(id) ? id : undefined;
}

/** The ids of the requests of ours that `messages` answer. */
export function answeredIds(messages: readonly JSONRPCMessage[]): RequestId[] {
  return messages.flatMap((message) => ("method" in message || message.id === undefined ? [] : [message.id]));
}

/** The id to answer a refusal with: that of the only request, or null. */
export function idToAnswer(body: unknown): RequestId | null {
  const [id = null] = Array.isArray(body) ? [] : requestIds(body);
  return id;
}

const polls: readonly unknown[] = ["tasks/get", "tasks/list", "tasks/cancel", "tasks/delete"];

/** Whether `body` is a request that is answered at once and without a stream (C-054). */
export function isPoll(body: unknown): boolean {
  return isJsonObject(body) && polls.includes(body["method"]) && isId(body["id"]);
}

/** What requests can be answered as: on a stream, where other messages can precede the answer, or as the JSON of the answer alone. */
export type AnswerForm = "stream" | "json";

/** By a client's Accept header; undefined: it has to accept JSON, as which all else is answered, and gets no answers otherwise. */
export function acceptedForm(accept: string | null): AnswerForm | undefined {
  if (accept === null || !/application\/(?:json|\*)|\*\/\*/i.test(accept)) return undefined;
  return /text\/event-stream/i.test(accept) ? "stream" : "json";
}

/** Whether a client accepts a stream where nothing else can be the answer. */
export function acceptsStreams(accept: string | null | undefined): boolean {
  return accept == null || /text\/(?:event-stream|\*)|\*\/\*/i.test(accept);
}

function messagesOf(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}

function isId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}

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

  /** Whether other processes may need a message of the client that came to this one. */
  concernOthers(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return message.id !== undefined && this.isOfAnother(message.id);
    switch (message.method) {
      case "notifications/cancelled": // the client may have resumed the request in one process, and cancel it in another
      case "notifications/roots/list_changed":
        return true;
      case "notifications/initialized": // for the process that answered the handshake
        return this.#isRestored;
      default:
        return false;
    }
  }

  /** Whether this process needs a message that came to another one. */
  concern(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return message.id !== undefined && this.isOurs(message.id);
    return message.method !== "notifications/initialized" || !this.#isRestored;
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
