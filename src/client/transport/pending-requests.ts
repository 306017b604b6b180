import type { JSONRPCMessage, JSONRPCNotification } from "@modelcontextprotocol/client";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import { brokenStream } from "./send-failure.ts";

/** What a notification is to a request: another's, its own, or its end. */
export type Heard = "other" | "mine" | "end";

export type Hear = (notification: JSONRPCNotification, id: string) => Heard;

export interface Pending {
  settle: (reply: Reply<JsonObject>) => void;
  readonly hear: Hear | undefined;
  /** The session that it was sent in. */
  session: number;
}

/** Our own requests that are not answered yet, under ids that the SDK's client never uses. */
export class PendingRequests {
  readonly #pending = new Map<string, Pending>();
  /** Another process may use the same session, whose server tells requests apart by their ids. */
  readonly #prefix = `holdfast-${crypto.randomUUID().slice(0, 8)}-`;
  #count = 0;

  add(pending: Pending): string {
    const id = `${this.#prefix}${++this.#count}`;
    this.#pending.set(id, pending);
    return id;
  }

  get(id: string): Pending | undefined {
    return this.#pending.get(id);
  }

  /** Gives the answer to somebody else. */
  redirect(id: string, settle: Pending["settle"]): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined) pending.settle = settle;
  }

  delete(id: string): void {
    this.#pending.delete(id);
  }

  /** Whether the message was an answer to a request of ours; one that comes too late is ours too, and nobody's. */
  take(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return this.#isHeard(message);
    const isResult = isJSONRPCResultResponse(message);
    if (!isResult && !isJSONRPCErrorResponse(message)) return false;
    if (typeof message.id !== "string" || !message.id.startsWith(this.#prefix)) return false;
    const pending = this.#pending.get(message.id);
    pending?.settle(
      isResult ? { kind: "value", value: message.result } : { kind: "error", error: message.error },
    );
    return true;
  }

  /** Nothing comes any more on the streams of sessions before this one. */
  lose(session: number): void {
    for (const pending of this.#pending.values()) {
      if (pending.session < session) pending.settle(brokenStream);
    }
  }

  #isHeard(notification: JSONRPCNotification): boolean {
    for (const [id, { hear, settle }] of this.#pending) {
      const heard = hear?.(notification, id) ?? "other";
      if (heard === "end") settle({ kind: "value", value: {} });
      if (heard !== "other") return true;
    }
    return false;
  }
}
