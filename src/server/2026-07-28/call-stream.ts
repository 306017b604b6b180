import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type McpServer,
  type RequestId,
} from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/json-object.ts";
import { AfterAnswers, type AnswerEnd } from "../after-answers.ts";
import type { Send, Tap } from "../intercept.ts";

/** What becomes of the list of tools that a client gets. */
export type AmendList = (result: JsonObject, params: JsonObject) => JsonObject;

/**
 * The stream of a request over HTTP, or the pipe of all of them: what goes out on it beside the SDK, and how it ends. A
 * client that closes its stream calls off its request; a server that closes it, for it stops, does not.
 */
export class CallStream implements Tap {
  readonly #amendList: AmendList;
  readonly #pipe: boolean;
  readonly #afterAnswers = new AfterAnswers();
  /** Params of requests for the list of tools, by request. */
  readonly #lists = new Map<RequestId, JsonObject>();
  #send: Send | undefined;
  #over: "closed by us" | "closed by its client" | undefined;

  /** `pipe`: all requests come on one connection, which ends with one of the processes and calls nothing off. */
  constructor(
    mcp: McpServer,
    { pipe, amendList }: { readonly pipe: boolean; readonly amendList: AmendList },
  ) {
    this.#pipe = pipe;
    this.#amendList = amendList;
    const { server } = mcp;
    const close = server.close.bind(server);
    server.close = () => {
      this.#over ??= "closed by us";
      return close();
    };
  }

  /** Whether a request that was aborted was so by its client. */
  get leftByClient(): boolean {
    return this.#over === undefined || (this.#over === "closed by its client" && !this.#pipe);
  }

  /** Sends a notification on the stream of `request`; one that does not arrive is lost. */
  notify(method: string, params: JsonObject, request: RequestId): void {
    this.#send?.({ jsonrpc: "2.0", method, params }, { relatedRequestId: request }).catch(() => undefined);
  }

  /** Runs `action` once the answer to `request` is sent, or never will be. */
  afterAnswer(request: RequestId, action: (end: AnswerEnd) => void): void {
    if (this.#over === undefined) this.#afterAnswers.add(request, action);
    else action("lost");
  }

  connected(send: Send): void {
    this.#send = send;
  }

  received(message: JSONRPCMessage): boolean {
    if (isJSONRPCRequest(message) && message.method === "tools/list") {
      this.#lists.set(message.id, message.params ?? {});
    } else if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      const request = message.params?.["requestId"];
      if (typeof request === "string" || typeof request === "number") this.#forget(request);
    }
    return false;
  }

  sending(message: JSONRPCMessage): JSONRPCMessage {
    if ("method" in message || message.id === undefined) return message;
    if (this.#over === undefined) this.#afterAnswers.goesOut(message.id, "sent");
    const params = this.#lists.get(message.id);
    this.#lists.delete(message.id);
    if (params === undefined || !("result" in message)) return message;
    return { ...message, result: this.#amendList(message.result, params) };
  }

  sent(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) this.#afterAnswers.end(message.id, "sent");
  }

  unsent(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) this.#afterAnswers.end(message.id, "lost");
  }

  closed(): void {
    this.#over ??= "closed by its client";
    this.#lists.clear();
    this.#afterAnswers.close();
  }

  #forget(request: RequestId): void {
    this.#lists.delete(request);
    this.#afterAnswers.end(request, "lost");
  }
}
