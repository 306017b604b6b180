import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { hasScopes } from "../../task/required-scopes.ts";
import { AfterAnswers, type AnswerEnd } from "../after-answers.ts";
import type { Answer } from "../answer.ts";
import type { Send, Tap } from "../intercept.ts";
import type { Streams } from "../streams.ts";
import type { Asked, Reply, ReplyTerms } from "./asked.ts";

/** Rejects what waits for a client that a message did not reach, or that is gone. */
export class Undelivered extends Error {
  override readonly name = "Undelivered";
}

/** What a client that does not read costs in memory. */
const mostUnsent = 100;

export interface ConnectionSetup {
  /** Null where callers are not told apart. */
  readonly principal: string | null;
  readonly streams: Streams;
  /** The capabilities to declare beside `own`, those of the author's server, by the version that was agreed on. */
  readonly declare: (protocolVersion: string, own: JsonObject) => JsonObject;
  /** Hears of each `notifications/cancelled`, with its params. */
  readonly cancelled?: (params: JsonObject) => void;
  /** A tool as it is listed to this client; undefined for one that is not. */
  readonly list: (tool: JsonObject) => JsonObject | undefined;
}

/**
 * One connection of an earlier revision than 2026-07-28, beside the SDK's own: what its client declared at its
 * beginning, and the requests and notifications that tasks send to it. Their ids are strings, so that they are never
 * those of the SDK, which counts.
 */
export class Connection implements Tap {
  readonly principal: string | null;
  readonly streams: Streams;
  readonly #setup: ConnectionSetup;
  readonly #asked = new Map<RequestId, PromiseWithResolvers<Reply>>();
  readonly #afterAnswers = new AfterAnswers();
  /** What becomes of the SDK's answers to requests of the client. */
  readonly #amend = new Map<RequestId, (result: JsonObject) => JsonObject>();
  /** Requests that are not answered, whose streams are gone. */
  readonly #broken = new Set<RequestId>();
  /** By request, what to abort when its client does not come back for the answer. */
  readonly #lost = new Map<RequestId, AbortController>();
  readonly #unlisten: readonly (() => void)[];
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(method: string, params: JsonObject) => void>();
  #send: Send | undefined;
  #capabilities: JsonObject = {};
  #version: string | undefined;
  #count = 0;
  /** Notifications that the transport has not taken yet. */
  #unsent = 0;

  constructor(setup: ConnectionSetup) {
    this.#setup = setup;
    this.principal = setup.principal;
    this.streams = setup.streams;
    this.#unlisten = [
      setup.streams.onBroken((request) => this.#broken.add(request)),
      setup.streams.onLost((request) => this.#lossOf(request).abort(streamLost())),
    ];
  }

  /** As the client declared them at the beginning; none on a connection without one. */
  get capabilities(): JsonObject {
    return this.#capabilities;
  }

  /** Undefined before the handshake, and on a connection without one. */
  get protocolVersion(): string | undefined {
    return this.#version;
  }

  /** Aborts when the connection ends. */
  get closing(): AbortSignal {
    return this.#closed.signal;
  }

  /** Sends a request on the stream of request `via`, or on the standalone stream. */
  ask(
    method: string,
    params: JsonObject,
    via: RequestId | undefined,
    { kept, requiredScopes = [] }: ReplyTerms = {},
  ): Asked {
    this.#count += 1;
    const id = `holdfast-${this.#count}`;
    const answer = Promise.withResolvers<Reply>();
    answer.promise.catch(() => undefined);
    this.#asked.set(id, answer);
    if (kept !== undefined) this.streams.acknowledgeAfter?.(id, kept);
    if (requiredScopes.length > 0) this.streams.replyNeeds?.(id, requiredScopes);
    this.#write({ jsonrpc: "2.0", id, method, params }, via).catch((cause: unknown) => {
      this.#asked.delete(id);
      answer.reject(new Undelivered("The request could not be sent.", { cause }));
    });
    return { id, reply: answer.promise, forget: () => this.#asked.delete(id) };
  }

  /** Sends a notification likewise; one that does not arrive is lost, and so is one to a client that does not read. */
  notify(method: string, params: JsonObject, via: RequestId | undefined): void {
    if (this.#unsent >= mostUnsent) return;
    this.#unsent += 1;
    this.#write({ jsonrpc: "2.0", method, params }, via)
      .catch(() => undefined)
      .finally(() => (this.#unsent -= 1));
  }

  /** As `notify`, for what must not be left out; resolves when the transport has taken it, or cannot. */
  async deliver(method: string, params: JsonObject, via: RequestId | undefined): Promise<void> {
    await this.#write({ jsonrpc: "2.0", method, params }, via).catch(() => undefined);
  }

  /** Answers a request that the SDK does not answer. */
  respond(request: RequestId, answer: Answer): void {
    const message = { jsonrpc: "2.0" as const, id: request, ...answer };
    this.#write(this.sending(message), undefined).then(
      () => this.sent(message),
      () => this.unsent(message),
    );
  }

  /** Whether what is told of a task on no request's stream reaches the client now. */
  hears(task: Pick<TaskRecord, "requiredScopes">): boolean {
    return this.streams.standaloneOpen && hasScopes(task, this.streams.standaloneScopes);
  }

  /** Whether the stream that `request` is to be answered on is gone. */
  isBroken(request: RequestId): boolean {
    return this.#broken.has(request);
  }

  /**
   * Aborts with `stream_lost` when the stream of `request` broke and its client did not come back for the answer: then
   * what only waits has nobody to wait for. That is no cancel: what works goes on. `signal` aborts when the request is cancelled.
   */
  lost(request: RequestId, signal: AbortSignal): AbortSignal {
    const loss = this.#lossOf(request);
    const forget = (): void => {
      if (this.#lost.get(request) === loss) this.#lost.delete(request);
    };
    // A batch can cancel a request before its handler begins.
    if (signal.aborted) forget();
    else signal.addEventListener("abort", forget, { once: true });
    return loss.signal;
  }

  /** Runs `action` once the answer to `request` is sent, or never will be. */
  afterAnswer(request: RequestId, action: (end: AnswerEnd) => void): void {
    this.#afterAnswers.add(request, action);
  }

  /** Calls `listener` with the client's notifications about tasks of its own; returns the way to stop it. */
  onTaskNotification(listener: (method: string, params: JsonObject) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  connected(send: Send): void {
    this.#send = send;
  }

  received(message: JSONRPCMessage): boolean {
    if (isJSONRPCRequest(message)) {
      this.#requested(message);
    } else if (isJSONRPCNotification(message)) {
      return this.#notified(message);
    } else if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      return this.#answered(message.id, message);
    }
    return false;
  }

  sending(message: JSONRPCMessage): JSONRPCMessage {
    if ("method" in message || message.id === undefined) return message;
    this.#afterAnswers.goesOut(message.id, this.#broken.has(message.id) ? "kept" : "sent");
    const amend = this.#amend.get(message.id);
    this.#amend.delete(message.id);
    if (amend === undefined || !("result" in message)) return message;
    return { ...message, result: amend(message.result) };
  }

  sent(message: JSONRPCMessage): void {
    this.#ended(message, "sent");
  }

  unsent(message: JSONRPCMessage): void {
    this.#ended(message, "lost");
  }

  closed(): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#lost.clear();
    this.#closed.abort();
    for (const { reject } of this.#asked.values()) reject(closedFault());
    this.#asked.clear();
    this.#afterAnswers.close();
  }

  #ended(message: JSONRPCMessage, end: AnswerEnd): void {
    if ("method" in message || message.id === undefined) return;
    this.#lost.delete(message.id);
    const broken = this.#broken.delete(message.id);
    this.#afterAnswers.end(message.id, broken && end === "sent" ? "kept" : end);
  }

  #requested({ id, method, params }: JSONRPCRequest): void {
    this.#broken.delete(id); // where it came before, it is answered on its new stream
    if (method === "initialize") {
      const declared = params?.["capabilities"];
      this.#capabilities = isJsonObject(declared) ? declared : {};
      this.#amend.set(id, (result) => this.#initialized(result));
    } else if (method === "tools/list") {
      this.#amend.set(id, (result) => this.#listed(result));
    }
  }

  /** True for one about a task of the client's own. */
  #notified({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/cancelled") {
      this.#cancelled(params?.["requestId"]);
      this.#setup.cancelled?.(params ?? {});
    }
    if (!method.startsWith("notifications/tasks/")) return false;
    for (const listener of this.#listeners) listener(method, params ?? {});
    return true;
  }

  /** It is not answered any more. */
  #cancelled(request: unknown): void {
    if (typeof request !== "string" && typeof request !== "number") return;
    this.#afterAnswers.end(request, "lost");
    this.#amend.delete(request);
    this.#broken.delete(request);
    this.#lost.delete(request);
  }

  #lossOf(request: RequestId): AbortController {
    const loss = this.#lost.get(request) ?? new AbortController();
    this.#lost.set(request, loss);
    return loss;
  }

  #initialized(result: JsonObject): JsonObject {
    const { protocolVersion, capabilities } = result;
    if (typeof protocolVersion !== "string") return result;
    this.#version = protocolVersion;
    const declared = isJsonObject(capabilities) ? capabilities : {};
    return { ...result, capabilities: { ...declared, ...this.#setup.declare(protocolVersion, declared) } };
  }

  #listed(result: JsonObject): JsonObject {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    const listed = tools.map((tool) => (isJsonObject(tool) ? this.#setup.list(tool) : (tool as unknown)));
    return { ...result, tools: listed.filter((tool) => tool !== undefined) };
  }

  #answered(id: RequestId | undefined, message: object): boolean {
    const answer = id === undefined ? undefined : this.#asked.get(id);
    if (id === undefined || answer === undefined) {
      // A late answer to a request of ours: the SDK would take it for a fault.
      return typeof id === "string" && id.startsWith("holdfast-");
    }
    this.#asked.delete(id);
    answer.resolve(message as Reply);
    return true;
  }

  async #write(message: JSONRPCMessage, via: RequestId | undefined): Promise<void> {
    if (this.#send === undefined || this.#closed.signal.aborted) throw closedFault();
    await this.#send(message, via === undefined ? {} : { relatedRequestId: via });
  }
}

function streamLost(): HoldfastError {
  const message = "The connection of this request broke and was not resumed. Send the request again.";
  return new HoldfastError("stream_lost", message);
}

function closedFault(): Undelivered {
  return new Undelivered("The connection is closed.");
}
