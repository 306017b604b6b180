import {
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCResultResponse,
  type RequestId,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
  isJSONRPCResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
} from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { ConnectOptions } from "../connect-options.ts";
import type { JsonObject } from "../../generation/message.ts";
import type { Reply } from "../reply/reply.ts";
import { inThisContext } from "../../runtime/own-context.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { ServerConnection } from "./server-connection.ts";
import { requestIdHeader, sessionHeader } from "./recording-fetch.ts";
import { brokenStream, noAnswer, noAnswerText, notJson, sendFailure } from "./send-failure.ts";
import { lostAnswer, unreadableAnswer } from "./wire-messages.ts";
import { MessageHandlers, PendingRequests, type RawRequest, type RawRequestOptions } from "./raw-request.ts";
import { RequestSpans } from "./request-spans.ts";
import { SessionRenewal, type OpenSession } from "./session-renewal.ts";

/** How long a handshake may take. */
const handshakeMs = 30_000;

export interface RequesterOptions extends Pick<ConnectOptions, "onMessage" | "telemetry"> {
  /** Changes each message of the SDK's client before it is sent. */
  readonly rewriteOutgoing?: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Changes each message before the SDK's client gets it. */
  readonly rewriteIncoming?: (message: JSONRPCMessage) => JSONRPCMessage;
}

/**
 * Sends requests on a connection, and starts a new session if the server has lost the old one. The SDK's client shares it, as its
 * transport, and gets what answers no request of this client and has no handler. `request` uses separate ids and returns the raw result,
 * because the SDK's client throws if a task answers a call.
 */
export class RawRequester implements Transport {
  /** Whether aborting a request closes its stream; otherwise it has to be cancelled by a notification. */
  readonly hasPerRequestStream: boolean;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** Handlers for the server's own requests and notifications. */
  readonly handlers = new MessageHandlers();
  /** Keeps the session for the next client. Resolves with false if no client needs it; the session is then ended. */
  keepSession: (session: OpenSession) => Promise<boolean> = async () => false;
  readonly #connection: ServerConnection;
  readonly #pending: PendingRequests;
  readonly #renewal: SessionRenewal;
  readonly #options: RequesterOptions;
  readonly #onMessage: NonNullable<ConnectOptions["onMessage"]>;
  /** Undefined where nothing is traced. */
  readonly #spans: RequestSpans | undefined;
  readonly #closed = new AbortController();
  readonly #clock: ClientClock;
  readonly #abandoned = new Set<Promise<unknown>>();
  /** The requests of the SDK's client that are not answered yet, where each has a stream of its own. */
  readonly #asked = new Set<RequestId>();
  #closing: Promise<void> | undefined;

  constructor(connection: ServerConnection, clock: ClientClock, options: RequesterOptions = {}) {
    const { onMessage = () => undefined, telemetry } = options;
    const { transport } = connection;
    this.#connection = connection;
    this.#clock = clock;
    this.#options = options;
    this.#onMessage = inThisContext(onMessage);
    this.#spans = telemetry && new RequestSpans(connection, telemetry.client);
    this.#pending = new PendingRequests({ clock, responses: connection.responses });
    this.hasPerRequestStream = transport.hasPerRequestStream === true;
    this.#renewal = new SessionRenewal({
      clock,
      origin: connection.origin,
      sessionId: () => transport.sessionId,
      closed: this.closed,
      initialize: async (params) => {
        const deadline = clock.deadline(handshakeMs);
        const reply = this.request("initialize", params, deadline.signal);
        return reply.finally(() => deadline.clear());
      },
      initialized: async () => {
        this.#pending.failOlderThan(this.session);
        await this.#transmit({ jsonrpc: "2.0", method: "notifications/initialized" });
      },
    });
    // A request shows whether the session is gone; a ping has no other effect.
    connection.onStreamLost?.(() => void this.request("ping", {}, this.closed).catch(() => undefined));
    transport.onclose = () => {
      this.#spans?.endAll();
      const message = connection.ending?.() ?? "The server ended the connection";
      this.#end(connection.bounds?.failure ?? new TaskClientError("connection", message));
    };
    transport.onerror = (error) => this.onerror?.(error);
    transport.onmessage = (message, extra) => {
      this.#spans?.received(message);
      this.#receive(message, extra);
    };
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    this.#show(message, "received");
    this.#renewal.received(message);
    if (isJSONRPCResponse(message) && message.id !== undefined) this.#asked.delete(message.id);
    if (this.#pending.handle(message) || this.handlers.handle(message)) return;
    this.onmessage?.(this.#options.rewriteIncoming?.(message) ?? message, extra);
  }

  /** Aborts when the connection has ended, with a TaskClientError that says why. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Whether the server ended the connection. */
  get endedByServer(): boolean {
    const reason: unknown = this.closed.reason;
    return reason instanceof TaskClientError && reason.code === "connection";
  }

  /** The id of the session, over HTTP before 2026-07-28. */
  get sessionId(): string | undefined {
    return this.#connection.responses === undefined ? undefined : this.#connection.transport.sessionId;
  }

  /** The origin that the session's id goes to. */
  get origin(): string | undefined {
    return this.#connection.origin;
  }

  /** The number of the session: the ids of a server's requests are unique only within one. */
  get session(): number {
    return this.#renewal.session;
  }

  async start(): Promise<void> {
    const { transport } = this.#connection;
    // A message that arrives on a pipe belongs to no caller, not even to the one that connected.
    await (this.#options.telemetry?.client.apart(() => transport.start()) ?? transport.start());
  }

  /** Sends a message of the SDK's client. */
  async send(given: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const message = this.#options.rewriteOutgoing?.(given) ?? given;
    if (isJSONRPCNotification(message)) this.#asked.delete(message.params?.["requestId"] as RequestId); // it is cancelled
    // The SDK's transport returns before it has the stream of a request that it resumes.
    if (!isJSONRPCRequest(message) || options?.resumptionToken !== undefined)
      return this.#sendInSession(message, options);
    try {
      await this.#sendInSession(message, this.#answeredInAnyCase(message.id, options));
    } catch (error) {
      this.#asked.delete(message.id);
      throw error;
    }
    const { responses } = this.#connection;
    if (responses === undefined || responses.takeStream(message.id)) return;
    this.#unanswered(unreadableAnswer(message.id, noAnswerText));
  }

  /** Sends it again if the server had lost the session. */
  async #sendInSession(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    this.#renewal.observe(message);
    const { session } = this;
    try {
      await this.#transmit(message, options);
    } catch (error) {
      const renewed = await this.#renewal.renewAfter(error, session);
      if (renewed?.kind !== "value") throw error;
      // An answer belongs to a request of the lost session.
      if (!isJSONRPCResponse(message)) await this.#transmit(message, options);
    }
  }

  /** The SDK's client would wait for ever for the answer on a stream that has ended without it, and is not resumed. */
  #answeredInAnyCase(id: RequestId, options: TransportSendOptions = {}): TransportSendOptions {
    if (!this.hasPerRequestStream) return options;
    this.#asked.add(id);
    const { requestSignal, onRequestStreamEnd } = options;
    requestSignal?.addEventListener("abort", () => this.#asked.delete(id), { once: true });
    return {
      ...options,
      onRequestStreamEnd: () => {
        onRequestStreamEnd?.();
        this.#unanswered(lostAnswer(id, brokenStream.message));
      },
    };
  }

  /** Ends a request of the SDK's client that has not been answered, and will not be. */
  #unanswered(answer: JSONRPCErrorResponse): void {
    if (answer.id !== undefined && this.#asked.has(answer.id)) this.#receive(answer);
  }

  /** Resolves when the connection is closed, and the process that was started for it has ended. */
  async close(): Promise<void> {
    this.#end(new TaskClientError("closed", "The connection was closed"));
    await (this.#closing ??= this.#disconnect());
  }

  setProtocolVersion(version: string): void {
    if (this.#spans !== undefined) this.#spans.protocolVersion = version;
    this.#connection.transport.setProtocolVersion?.(version);
  }

  /** Sends an answer or a notification without retries. Resolves with a value if the server accepted it. */
  async sendOnce(
    message: JSONRPCResultResponse | JSONRPCErrorResponse | JSONRPCNotification,
    { headers = {} }: Pick<RawRequestOptions, "headers"> = {},
  ): Promise<Reply<undefined>> {
    const { session } = this;
    try {
      await this.#transmit(message, { headers });
      return { kind: "value", value: undefined };
    } catch (error) {
      // The message belonged to the lost session. The reply shows the caller whether there is a new one.
      const renewed = isForOtherSession(headers) ? undefined : await this.#renewal.renewAfter(error, session);
      return renewed?.kind === "lost" ? renewed : sendFailure(error);
    }
  }

  /**
   * Sends one request without retries; the reply's value is the raw result object. Rejects only with the signal's
   * reason or `closed`'s, and with a TypeError for what is no JSON. If the server has lost the session, begins a new one first.
   */
  async request(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
    options: RawRequestOptions = {},
  ): Promise<Reply<JsonObject>> {
    const either = AbortSignal.any([signal, this.closed]);
    either.throwIfAborted();
    const request = this.#pending.add(method, params, options, this.session);
    const { afterAbort } = request;
    const onAbort = (): void => {
      const goesOn =
        afterAbort.kind === "goes_on" && (afterAbort.forMs === undefined || !isClose(either.reason));
      request.abort(either.reason, this.closed.aborted || !goesOn);
      if (goesOn) this.#letGoOn(request, afterAbort.forMs);
      else if (afterAbort.kind !== "caller") {
        request.drop();
        this.#cancelRequest(request.id, method);
      }
    };
    either.addEventListener("abort", onAbort, { once: true });
    options.onSent?.(request);
    // Only a stream of notifications may stay open after the answer.
    const stream = options.matchNotification === undefined ? request.cutOff : request.over;
    this.#send(request, AbortSignal.any([afterAbort.kind === "goes_on" ? this.closed : either, stream]));
    try {
      return await request.reply;
    } finally {
      either.removeEventListener("abort", onAbort);
    }
  }

  /** Resolves when nothing is left to do for requests whose callers have given up; soon, since that is limited in time. */
  async abandonedEnd(): Promise<void> {
    await Promise.all(this.#abandoned);
  }

  #letGoOn(request: RawRequest, forMs: number | undefined): void {
    const { handled } = request;
    if (forMs === undefined || this.closed.aborted) return;
    this.#abandoned.add(handled);
    const deadline = this.#clock.deadline(forMs);
    const onLate = (): void => {
      request.drop();
      this.#cancelRequest(request.id, request.message.method);
    };
    deadline.signal.addEventListener("abort", onLate, { once: true });
    request.over.addEventListener("abort", () => deadline.clear(), { once: true });
    void handled.finally(() => this.#abandoned.delete(handled));
  }

  /** `stream` aborts when the request's stream is no longer needed. */
  #send(request: RawRequest, stream: AbortSignal, isFirst = true): void {
    const { responses } = this.#connection;
    // A shared stream, as over stdio, ignores these. Without our fetch the internal header would reach the server.
    const options = this.hasPerRequestStream && {
      requestSignal: stream,
      onRequestStreamEnd: () => request.settle(brokenStream),
      headers: {
        ...request.options.headers,
        ...(responses !== undefined && { [requestIdHeader]: request.id }),
      },
    };
    this.#transmit(request.message, options || {}).then(
      () => {
        if (!request.streams) request.settle(noAnswer);
      },
      async (error: unknown) => {
        const failure = sendFailure(error, request.retryAfterMs);
        const problem = failure.kind === "lost" ? notJson(request.message) : undefined;
        if (problem !== undefined) return request.abort(problem, true); // no repeat could be sent either
        const renewed = isFirst ? await this.#renewFor(request, error) : undefined;
        if (renewed?.kind === "value") this.#send(request, stream, false);
        else if (renewed?.kind === "lost") request.settle({ ...renewed, notReceived: true });
        else request.settle(renewed ?? failure);
      },
    );
  }

  /** Starts a new session for a request that the server refused because it has lost the old one. */
  async #renewFor(request: RawRequest, error: unknown): Promise<Reply<JsonObject> | undefined> {
    const { message, options, session } = request;
    if (session === undefined || message.method === "initialize" || isForOtherSession(options.headers))
      return;
    request.session = undefined;
    const renewed = await this.#renewal.renewAfter(error, session);
    request.session = this.session;
    return renewed;
  }

  /**
   * Tells the server that the answer is no longer needed (X-B-016). Over HTTP closing the stream does so; before
   * 2026-07-28 it does not (C-053), and a call has to be cancelled by a notification.
   */
  #cancelRequest(requestId: string, method: string): void {
    if (this.closed.aborted || method === "initialize") return;
    if (this.hasPerRequestStream && !(this.#renewal.canRenew && method === "tools/call")) return;
    const params = { requestId, reason: "The caller no longer waits for the answer" };
    const gone = (): void => undefined;
    this.#transmit({ jsonrpc: "2.0", method: "notifications/cancelled", params }, {}).catch(gone);
  }

  async #transmit(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { transport } = this.#connection;
    const { sessionId } = transport;
    this.#show(message, "sent");
    await (this.#spans?.send(message, options) ?? transport.send(message, options));
    this.#renewal.accepted(sessionId);
  }

  #show(message: JSONRPCMessage, direction: "sent" | "received"): void {
    try {
      const returned = this.#onMessage(message, direction);
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // A failing log must not fail a request.
    }
  }

  async #disconnect(): Promise<void> {
    const session = this.#renewal.openSession;
    if (session === undefined || !(await this.keepSession(session))) await this.#connection.endSession?.();
    if (this.#spans === undefined) await this.#connection.transport.close();
    else await this.#spans.close();
  }

  #end(reason: TaskClientError): void {
    if (this.closed.aborted) return;
    this.#closed.abort(reason);
    this.onclose?.();
  }
}

/** The client closes: it does not wait for answers any more. */
function isClose(reason: unknown): boolean {
  return reason instanceof TaskClientError && reason.code === "closed";
}

/** The failure of a message in another session says nothing about the current one. */
function isForOtherSession(headers: RawRequestOptions["headers"]): boolean {
  return headers?.[sessionHeader] !== undefined;
}
