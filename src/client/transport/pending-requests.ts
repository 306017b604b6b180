import type { JSONRPCMessage, JSONRPCNotification } from "@modelcontextprotocol/client";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
} from "@modelcontextprotocol/client";
import { RawRequest, type RawRequestOptions, type RequestServices } from "./raw-request.ts";
import { brokenStream } from "./send-failure.ts";

/** Requests of `RawRequester` that are not answered yet. The SDK's client never uses their ids. */
export class PendingRequests {
  readonly #requests = new Map<string, RawRequest>();
  /** Random, since another process may send requests in the same session. */
  readonly #prefix = `holdfast-${crypto.randomUUID().slice(0, 8)}-`;
  readonly #services: RequestServices;
  #count = 0;

  constructor(services: RequestServices) {
    this.#services = services;
  }

  /** Adds a request under an id of its own, until it is over. */
  add(
    method: string,
    params: Record<string, unknown>,
    options: RawRequestOptions,
    session: number,
  ): RawRequest {
    const id = `${this.#prefix}${++this.#count}`;
    const message = { jsonrpc: "2.0" as const, id, method, params };
    const request = new RawRequest(message, options, session, this.#services);
    this.#requests.set(id, request);
    request.over.addEventListener("abort", () => this.#requests.delete(id), { once: true });
    return request;
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
    this.#requests
      .get(message.id)
      ?.settle(isResult ? { kind: "value", value: message.result } : { kind: "error", error: message.error });
    return true;
  }

  /** Fails the requests of earlier sessions: their streams are gone. */
  failOlderThan(session: number): void {
    for (const request of this.#requests.values()) {
      if (request.session !== undefined && request.session < session) request.settle(brokenStream);
    }
  }

  #isMatched(notification: JSONRPCNotification): boolean {
    for (const [id, request] of this.#requests) {
      const match = request.options.matchNotification?.(notification, id) ?? "other";
      if (match === "end") request.settle({ kind: "value", value: {} });
      if (match !== "other") return true;
    }
    return false;
  }
}
