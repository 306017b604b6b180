import type { JSONRPCMessage, JSONRPCNotification } from "@modelcontextprotocol/client";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import { brokenStream } from "./send-failure.ts";

/** Whether a notification belongs to a request (`mine`), ends it (`end`), or has nothing to do with it (`other`). */
export type NotificationMatch = "other" | "mine" | "end";

export type MatchNotification = (notification: JSONRPCNotification, id: string) => NotificationMatch;

export interface Pending {
  settle: (reply: Reply<JsonObject>) => void;
  readonly matchNotification: MatchNotification | undefined;
  /** The session that it was sent in. */
  session: number;
}

/** Requests of `RawRequester` that are not answered yet. The SDK's client never uses their ids. */
export class PendingRequests {
  readonly #pending = new Map<string, Pending>();
  /** Random, since another process may send requests in the same session. */
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

  /** Passes the answer to `settle` instead. */
  redirect(id: string, settle: Pending["settle"]): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined) pending.settle = settle;
  }

  delete(id: string): void {
    this.#pending.delete(id);
  }

  /**
   * Settles the request that the message answers. Returns whether the id is one of ours, also if the answer came
   * too late.
   */
  handle(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return this.#isMatched(message);
    const isResult = isJSONRPCResultResponse(message);
    if (!isResult && !isJSONRPCErrorResponse(message)) return false;
    if (typeof message.id !== "string" || !message.id.startsWith(this.#prefix)) return false;
    const pending = this.#pending.get(message.id);
    pending?.settle(
      isResult ? { kind: "value", value: message.result } : { kind: "error", error: message.error },
    );
    return true;
  }

  /** Fails the requests of earlier sessions: their streams are gone. */
  failOlderThan(session: number): void {
    for (const pending of this.#pending.values()) {
      if (pending.session < session) pending.settle(brokenStream);
    }
  }

  #isMatched(notification: JSONRPCNotification): boolean {
    for (const [id, { matchNotification, settle }] of this.#pending) {
      const match = matchNotification?.(notification, id) ?? "other";
      if (match === "end") settle({ kind: "value", value: {} });
      if (match !== "other") return true;
    }
    return false;
  }
}
