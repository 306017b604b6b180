import { randomUUID } from "node:crypto";
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  RequestId,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, logMethod } from "../../generation/message.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskRecord } from "../../task/record.ts";
import { hasScopes } from "../../task/scopes.ts";
import type { LogLevel } from "../../task/task-line.ts";
import { notResumed } from "../../task/unanswered.ts";
import { clientNameIn, SeenPatience, type ClientName } from "../plain/patience.ts";
import type { Wire } from "../dispatch/dispatch-transport.ts";
import type { AnswerEnd, Streams } from "../streams.ts";

/** What a client answered a request of ours. */
export type Reply =
  | { readonly result: JsonObject }
  | {
      readonly error: JsonRpcError;
      /** The client was asked as a task, and might answer if it is asked without one. */
      readonly ofTask?: true;
    };

/** Marks the reply of a client that was asked as a task. */
export function ofTask(reply: Reply): Reply {
  return "error" in reply ? { ...reply, ofTask: true } : reply;
}

/** A request of ours that the client has not answered yet. */
export interface SentRequest {
  readonly id: string;
  /** Rejects with `Undelivered`. */
  readonly reply: Promise<Reply>;
  /** Ignores the reply. */
  forget(): void;
}

/** What the acceptance of a client's reply depends on. */
export interface ReplyTerms {
  /** It is acknowledged once this resolves: then it is stored, or not needed any more. */
  readonly kept?: Promise<void>;
  /** The scopes needed to reply. */
  readonly requiredScopes?: readonly string[] | undefined;
}

/** A request of ours could not be sent, or its connection has ended. */
export class Undelivered extends Error {
  override readonly name = "Undelivered";
}

/** How many notifications may wait for a client that does not read; of log messages, which come many at a time, as many as are read at once. */
const mostUnsent = { others: 100, log: 1_000 };

/**
 * One connection of a revision before 2026-07-28: what its client declared in `initialize`, and the requests and
 * notifications that tasks send to it without the SDK. The ids of these requests are strings, while those of the SDK are
 * numbers.
 */
export class Connection {
  readonly principal: string | null;
  readonly streams: Streams;
  /** From which level on the client wants log messages; undefined: it wants none. */
  logLevel: LogLevel | undefined;
  readonly patience = new SeenPatience();
  readonly #asked = new Map<RequestId, PromiseWithResolvers<Reply>>();
  /** Unanswered requests whose streams broke. */
  readonly #broken = new Set<RequestId>();
  /** By request, aborted when its client does not resume in time. */
  readonly #lost = new Map<RequestId, AbortController>();
  readonly #unlisten: readonly (() => void)[];
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(method: string, params: JsonObject) => void>();
  #wire: Wire | undefined;
  #capabilities: JsonObject = {};
  #client: ClientName | undefined;
  #version: string | undefined;
  /** Differs from those of the same session in other processes, whose replies may arrive here. */
  readonly #idPrefix: string;
  #count = 0;
  /** Notifications that the transport has not taken yet. */
  readonly #unsent = { others: 0, log: 0 };

  constructor(principal: string | null, streams: Streams) {
    this.principal = principal;
    this.streams = streams;
    this.#idPrefix = `holdfast-${streams.processName ?? randomUUID().slice(0, 8)}-`;
    this.#unlisten = [
      streams.onBroken((request) => this.#broken.add(request)),
      streams.onLost((request) => this.#lossOf(request).abort(notResumed())),
    ];
  }

  /** As the client declared them in `initialize`; none on a connection without it. */
  get capabilities(): JsonObject {
    return this.#capabilities;
  }

  /** As it named itself in `initialize`. */
  get client(): ClientName | undefined {
    return this.#client;
  }

  /** Undefined before the handshake, and on a connection without it. */
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
  ): SentRequest {
    this.#count += 1;
    const id = `${this.#idPrefix}${this.#count}`;
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

  /** Sends a notification likewise; it is dropped if it cannot be sent, or if too many wait for the client to read. */
  notify(method: string, params: JsonObject, via: RequestId | undefined): void {
    const kind = method === logMethod ? "log" : "others";
    if (this.#unsent[kind] >= mostUnsent[kind]) return;
    this.#unsent[kind] += 1;
    this.#write({ jsonrpc: "2.0", method, params }, via)
      .catch(() => undefined)
      .finally(() => (this.#unsent[kind] -= 1));
  }

  /** As `notify`, for notifications that are never dropped; resolves when the transport has sent it, or cannot. */
  async deliver(method: string, params: JsonObject, via: RequestId | undefined): Promise<void> {
    await this.#write({ jsonrpc: "2.0", method, params }, via).catch(() => undefined);
  }

  /** Whether a notification about the task can reach the client now without the stream of a request. */
  isReached(task: Pick<TaskRecord, "requiredScopes">): boolean {
    return this.streams.standaloneOpen && hasScopes(task, this.streams.standaloneScopes);
  }

  /** Whether the client can be sent questions while it waits for the answer to `request`. */
  canAskDuring(request: RequestId): boolean {
    return this.streams.standaloneOpen || this.streams.answersOnly?.(request) !== true;
  }

  /** Whether the stream for the answer to `request` broke. */
  isBroken(request: RequestId): boolean {
    return this.#broken.has(request);
  }

  /**
   * Aborts with `stream_lost` when the stream of `request` broke and its client did not resume it: then everything that only waits ends
   * . It is no cancel: work continues. `signal` aborts when the request is cancelled.
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
    const report = (end: AnswerEnd): void => action(end === "sent" && this.isBroken(request) ? "kept" : end);
    if (this.#wire === undefined) report("lost");
    else this.#wire.afterAnswer(request, report);
  }

  /** Calls `listener` with the client's notifications about tasks of its own; returns a function that removes it. */
  onTaskNotification(listener: (method: string, params: JsonObject) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  connected(wire: Wire): void {
    this.#wire = wire;
  }

  requested({ id, method, params }: JSONRPCRequest): void {
    this.#broken.delete(id); // a repeated request is answered on its new stream
    if (method !== "initialize") return;
    const declared = params?.["capabilities"];
    this.#capabilities = isJsonObject(declared) ? declared : {};
    this.#client = clientNameIn(params?.["clientInfo"]);
  }

  /** The handshake ended with this version. */
  agreed(protocolVersion: string): void {
    this.#version = protocolVersion;
  }

  /** True for an answer to a request of ours, and for a notification about a task of the client's own. */
  received(message: JSONRPCNotification | JSONRPCResponse): boolean {
    return "method" in message ? this.#notified(message) : this.#answered(message.id, message);
  }

  /** The request was answered, or never will be. */
  ended(request: RequestId): void {
    this.#broken.delete(request);
    this.#lost.delete(request);
  }

  closed(): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#lost.clear();
    this.#closed.abort();
    for (const { reject } of this.#asked.values()) reject(closedFault());
    this.#asked.clear();
  }

  /** True for one about a task of the client's own. */
  #notified({ method, params }: JSONRPCNotification): boolean {
    if (method === "notifications/cancelled") this.ended(params?.["requestId"] as RequestId);
    if (!method.startsWith("notifications/tasks/")) return false;
    for (const listener of this.#listeners) listener(method, params ?? {});
    return true;
  }

  #lossOf(request: RequestId): AbortController {
    const loss = this.#lost.get(request) ?? new AbortController();
    this.#lost.set(request, loss);
    return loss;
  }

  #answered(id: RequestId | undefined, message: object): boolean {
    const answer = id === undefined ? undefined : this.#asked.get(id);
    if (id === undefined || answer === undefined) {
      // A late answer to a request of ours, which the SDK would report as an error.
      return typeof id === "string" && id.startsWith("holdfast-");
    }
    this.#asked.delete(id);
    answer.resolve(message as Reply);
    return true;
  }

  async #write(message: JSONRPCMessage, via: RequestId | undefined): Promise<void> {
    if (this.#wire === undefined || this.#closed.signal.aborted) throw closedFault();
    await this.#wire.send(message, via === undefined ? {} : { relatedRequestId: via });
  }
}

function closedFault(): Undelivered {
  return new Undelivered("The connection is closed.");
}
