import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import { type ClientClock, noLongerNeeded, randomName } from "../clock.ts";
import type { Reply } from "../reply/reply.ts";
import { retryAfterHeaderMs } from "../reply/retry.ts";
import { brokenStream, errorAnswer, sendFailure } from "./send-failure.ts";
import type { ResponseRecords } from "./recording-fetch.ts";

/** Whether a notification belongs to a request (`mine`), ends it (`end`), or has nothing to do with it (`other`). */
export type NotificationMatch = "other" | "mine" | "end";

export type MatchNotification = (notification: JSONRPCNotification, id: string) => NotificationMatch;

/** What happens to a request on the server when its signal aborts. */
export type AfterAbort =
  /** It is cancelled. */
  | { readonly kind: "cancel" }
  /** The caller cancels it, or lets it continue. */
  | { readonly kind: "caller" }
  /**
   * It continues, and `onReply` gets its answer. For requests that cannot be cancelled, only the task that they create. With `forMs` it is
   * cancelled if it is not answered by then.
   */
  | {
      readonly kind: "goes_on";
      readonly forMs?: number;
      readonly onReply: (reply: Reply<JsonObject>) => unknown;
    };

export interface RawRequestOptions {
  /** Decides which notifications belong to the request, for requests with a stream of notifications. */
  readonly matchNotification?: MatchNotification;
  /** Default: `cancel`. */
  readonly afterAbort?: AfterAbort;
  /** Headers of this request, over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each part of the response that arrives, over HTTP. */
  readonly onActivity?: () => void;
  /** Called when the request is sent, before any answer. */
  readonly onSent?: (request: SentRequest) => void;
}

/** A request that was sent. */
export interface SentRequest {
  readonly id: string;
  /** The session that it was sent in; the id is unique only there. Undefined while the server refuses it in any session. */
  readonly session: number | undefined;
  /** Whether the server can send messages about the request before it answers. */
  readonly streams: boolean;
}

type State =
  | { readonly kind: "waiting"; readonly resolve: (reply: Reply<JsonObject>) => void }
  /** Its signal has aborted, and it continues. */
  | { readonly kind: "abandoned"; readonly onReply: (reply: Reply<JsonObject>) => unknown }
  | { readonly kind: "over" };

/** What a request reads from its connection. */
interface RequestServices {
  readonly clock: ClientClock;
  /** The HTTP response of each request; undefined on other transports. */
  readonly responses: ResponseRecords | undefined;
}

/** One request of `RawRequester`, from its sending to its reply. */
export class RawRequest implements SentRequest {
  readonly message: JSONRPCRequest & { readonly id: string };
  readonly options: RawRequestOptions;
  /** Rejects with the reason of an abort. */
  readonly reply: Promise<Reply<JsonObject>>;
  session: number | undefined;
  readonly #services: RequestServices;
  readonly #reject: (reason: unknown) => void;
  readonly #over = new AbortController();
  readonly #cutOff = new AbortController();
  readonly #handled = Promise.withResolvers<unknown>();
  #state: State;

  constructor(
    message: RawRequest["message"],
    options: RawRequestOptions,
    session: number,
    services: RequestServices,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    this.message = message;
    this.options = options;
    this.reply = promise;
    this.session = session;
    this.#services = services;
    this.#reject = reject;
    this.#state = { kind: "waiting", resolve };
    services.responses?.listen(message.id, {
      onActivity: options.onActivity,
      onExceeded: (error) => {
        this.settle(sendFailure(error));
        this.#cutOff.abort(noLongerNeeded);
      },
    });
  }

  get id(): string {
    return this.message.id;
  }

  /** Aborts when no reply is expected any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Aborts when the server's stream was cut off, because it exceeds a bound. It must not be resumed then. */
  get cutOff(): AbortSignal {
    return this.#cutOff.signal;
  }

  get afterAbort(): AfterAbort {
    return this.options.afterAbort ?? { kind: "cancel" };
  }

  get streams(): boolean {
    const { responses } = this.#services;
    return responses === undefined || responses.get(this.id)?.streams === true;
  }

  /** The pause that the response asks for, in milliseconds. */
  get retryAfterMs(): number | undefined {
    const { responses, clock } = this.#services;
    return retryAfterHeaderMs(responses?.get(this.id)?.retryAfter ?? null, clock.now());
  }

  /** Passes on the first reply. */
  settle(reply: Reply<JsonObject>): void {
    const state = this.#state;
    if (state.kind === "over") return;
    const { retryAfterMs } = this;
    this.#end();
    const received =
      reply.kind === "value" && retryAfterMs !== undefined ? { ...reply, retryAfterMs } : reply;
    if (state.kind === "waiting") return state.resolve(received);
    const handling = Promise.resolve(state.onReply(received));
    handling.then(this.#handled.resolve, this.#handled.resolve);
  }

  /** It is not answered in time after its caller gave up: its stream ends, and no answer counts any more. */
  drop(): void {
    this.#end();
    this.#handled.resolve(undefined);
    this.#cutOff.abort(noLongerNeeded);
  }

  /** Resolves when its answer was passed on after an abort, with all that `onReply` does, or when it was dropped. */
  get handled(): Promise<unknown> {
    return this.#handled.promise;
  }

  /** Its signal has aborted, or the connection has ended. */
  abort(reason: unknown, hasEnded: boolean): void {
    if (this.#state.kind !== "waiting") return;
    const { afterAbort } = this;
    if (afterAbort.kind === "goes_on" && !hasEnded)
      this.#state = { kind: "abandoned", onReply: afterAbort.onReply };
    else this.#end();
    this.#reject(reason);
  }

  #end(): void {
    this.#state = { kind: "over" };
    this.#services.responses?.delete(this.id);
    this.#over.abort(noLongerNeeded);
  }
}

/** Requests of `RawRequester` that are not answered yet. The SDK's client never uses their ids. */
export class PendingRequests {
  readonly #requests = new Map<string, RawRequest>();
  /** Random, since another process may send requests in the same session. */
  readonly #prefix = `holdfast-${randomName()}-`;
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
    const reply = isResult ? ({ kind: "value", value: message.result } as const) : errorAnswer(message.error);
    this.#requests.get(message.id)?.settle(reply);
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

/** Returns whether it handled the message. */
export type MessageHandler<Message> = (message: Message) => boolean;

/** Handlers of the server's own requests and notifications. They come before the SDK's client. */
export class MessageHandlers {
  readonly #notifications = new Set<MessageHandler<JSONRPCNotification>>();
  readonly #requests = new Set<MessageHandler<JSONRPCRequest>>();

  /** Adds a handler; the first that returns true ends the search. Returns a function that removes it. */
  onNotification(handler: MessageHandler<JSONRPCNotification>): () => void {
    this.#notifications.add(handler);
    return () => this.#notifications.delete(handler);
  }

  /** The same for requests, newest handler first. */
  onRequest(handler: MessageHandler<JSONRPCRequest>): () => void {
    this.#requests.add(handler);
    return () => this.#requests.delete(handler);
  }

  handle(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return [...this.#notifications].some((handler) => handler(message));
    if (!isJSONRPCRequest(message)) return false;
    return [...this.#requests].toReversed().some((handler) => handler(message));
  }
}
