import {
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type Transport,
  type TransportSendOptions,
  isJSONRPCResponse,
} from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { ServerConnection } from "./server-connection.ts";
import { requestIdHeader, sessionHeader } from "./recording-fetch.ts";
import { retryAfterHeaderMs } from "../reply/retry.ts";
import { PendingRequests, type Pending } from "./pending-requests.ts";
import { brokenStream, noAnswer, sendFailure } from "./send-failure.ts";
import type { RawRequestOptions, SentRequest } from "./raw-request.ts";
import { SessionRenewal } from "./session-renewal.ts";
import { MessageHandlers } from "./message-handlers.ts";

interface RawRequesterOptions {
  readonly clock: ClientClock;
  /** Changes each message of the SDK's client before it is sent. */
  readonly rewriteOutgoing: (message: JSONRPCMessage) => JSONRPCMessage;
  /** Changes each message before the SDK's client gets it. */
  readonly rewriteIncoming: (message: JSONRPCMessage) => JSONRPCMessage;
}

interface Outgoing {
  readonly message: JSONRPCRequest & { id: string };
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the request's stream is no longer needed. */
  readonly sending: AbortSignal;
  readonly pending: Pending;
}

/** How long a handshake may take. */
const handshakeMs = 30_000;

/**
 * The transport of the SDK's client, which sends requests of its own on the same connection: `request` uses
 * separate ids and returns the raw result, since the SDK's client throws if a task answers a call.
 */
export class RawRequester implements Transport {
  /** Whether aborting a request closes its stream; otherwise it has to be cancelled by a notification. */
  readonly hasPerRequestStream: boolean;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** Handlers for the server's own requests and notifications. */
  readonly handlers = new MessageHandlers();
  /** Whether to keep the session on the server when the connection is closed. */
  isSessionNeeded: () => Promise<boolean> = async () => false;
  readonly #connection: ServerConnection;
  readonly #options: RawRequesterOptions;
  readonly #pending = new PendingRequests();
  readonly #renewal: SessionRenewal;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(connection: ServerConnection, options: RawRequesterOptions) {
    const { transport } = connection;
    this.#connection = connection;
    this.#options = options;
    this.hasPerRequestStream = transport.hasPerRequestStream === true;
    this.#renewal = new SessionRenewal({
      clock: options.clock,
      sessionId: () => transport.sessionId,
      closed: this.closed,
      initialize: async (params) => {
        const deadline = options.clock.deadline(handshakeMs);
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
    transport.onclose = () =>
      this.#end("connection", "The connection ended: the server, or its process, is gone");
    transport.onerror = (error) => this.onerror?.(error);
    transport.onmessage = (message, extra) => {
      if (!this.#pending.handle(message) && !this.handlers.handle(message))
        this.onmessage?.(options.rewriteIncoming(message), extra);
    };
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

  /** The number of the session: the ids of a server's requests are unique only within one. */
  get session(): number {
    return this.#renewal.session;
  }

  async start(): Promise<void> {
    await this.#connection.transport.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const rewritten = this.#options.rewriteOutgoing(message);
    this.#renewal.observe(rewritten);
    const { session } = this;
    try {
      await this.#transmit(rewritten, options);
    } catch (error) {
      const renewed = await this.#renewal.renewAfter(error, session);
      if (renewed?.kind !== "value") throw error;
      // An answer belongs to a request of the lost session.
      if (!isJSONRPCResponse(rewritten)) await this.#transmit(rewritten, options);
    }
  }

  /** Resolves when the connection is closed, and the process that was started for it has ended. */
  async close(): Promise<void> {
    this.#end("closed", "The connection was closed");
    await (this.#closing ??= this.#disconnect());
  }

  setProtocolVersion(version: string): void {
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
   * reason or `closed`'s. If the server has lost the session, begins a new one first.
   */
  async request(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
    { matchNotification, onLateReply, onSent, onActivity, headers = {} }: RawRequestOptions = {},
  ): Promise<Reply<JsonObject>> {
    const either = AbortSignal.any([signal, this.closed]);
    const ended = new AbortController();
    either.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    const pending: Pending = { settle: resolve, matchNotification, session: this.session };
    const id = this.#pending.add(pending);
    if (onActivity !== undefined) this.#connection.responses?.onActivity(id, onActivity);
    const onAbort = (): void => {
      reject(either.reason as Error);
      if (onLateReply === undefined && onSent === undefined) this.#cancelRequest(id, method);
    };
    either.addEventListener("abort", onAbort, { once: true });
    const finish = (): void => {
      this.#pending.delete(id);
      this.#connection.responses?.delete(id);
      ended.abort();
    };
    // Only a stream of notifications may stay open after the answer.
    const sending =
      onLateReply !== undefined
        ? this.closed
        : matchNotification === undefined
          ? either
          : AbortSignal.any([either, ended.signal]);
    onSent?.(this.#sentRequest(id, pending));
    this.#send({ message: { jsonrpc: "2.0", id, method, params }, headers, sending, pending }, true);
    let awaitsLateReply = false;
    try {
      const reply = await promise;
      const retryAfter = this.#connection.responses?.get(id)?.retryAfter ?? null;
      if (reply.kind !== "value" || retryAfter === null) return reply;
      return { ...reply, retryAfterMs: retryAfterHeaderMs(retryAfter, this.#options.clock.now()) };
    } catch (error) {
      awaitsLateReply = onLateReply !== undefined && !this.closed.aborted;
      throw error;
    } finally {
      either.removeEventListener("abort", onAbort);
      if (awaitsLateReply) this.#pending.redirect(id, (reply) => (finish(), onLateReply?.(reply)));
      else finish();
    }
  }

  #send(outgoing: Outgoing, first: boolean): void {
    const { message, headers, sending, pending } = outgoing;
    const { responses } = this.#connection;
    const { id, method } = message;
    const settle = (reply: Reply<JsonObject>): void => this.#pending.get(id)?.settle(reply);
    const onRequestStreamEnd = (): void => settle(brokenStream);
    // A shared stream, as over stdio, ignores these. Without our fetch the internal header would reach the server.
    const options = this.hasPerRequestStream && {
      requestSignal: sending,
      onRequestStreamEnd,
      headers: { ...headers, ...(responses !== undefined && { [requestIdHeader]: id }) },
    };
    const { session } = pending;
    this.#transmit(message, options || {}).then(
      () => {
        if (responses !== undefined && responses.get(id)?.streams !== true) settle(noAnswer);
      },
      async (error: unknown) => {
        const retryAfter = responses?.get(id)?.retryAfter ?? null;
        pending.session = Infinity; // the server refused it, so it does not fail with its session
        const renewed =
          first && method !== "initialize" && !isForOtherSession(headers)
            ? await this.#renewal.renewAfter(error, session)
            : undefined;
        pending.session = this.session;
        if (renewed?.kind === "value") this.#send(outgoing, false);
        else if (renewed?.kind === "lost") settle({ ...renewed, notReceived: true });
        else settle(renewed ?? sendFailure(error, retryAfterHeaderMs(retryAfter, this.#options.clock.now())));
      },
    );
  }

  #sentRequest(id: string, pending: Pending): SentRequest {
    const { responses } = this.#connection;
    return {
      id,
      get session() {
        return pending.session;
      },
      get streams() {
        return responses === undefined || responses.get(id)?.streams === true;
      },
    };
  }

  /**
   * Tells the server that the answer is no longer needed (X-B-016). Over HTTP closing the stream does so; before
   * 2026-07-28 it does not (C-053), and a call has to be cancelled by a notification.
   */
  #cancelRequest(requestId: string, method: string): void {
    if (this.closed.aborted || method === "initialize") return;
    if (this.hasPerRequestStream && !(this.#renewal.canRenew && method === "tools/call")) return;
    const params = { requestId, reason: "Nobody waits for the answer any more" };
    const gone = (): void => undefined;
    this.#transmit({ jsonrpc: "2.0", method: "notifications/cancelled", params }, {}).catch(gone);
  }

  async #transmit(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { transport } = this.#connection;
    const { sessionId } = transport;
    await transport.send(message, options);
    this.#renewal.accepted(sessionId);
  }

  async #disconnect(): Promise<void> {
    if (!(await this.isSessionNeeded())) await this.#connection.endSession?.();
    await this.#connection.transport.close();
  }

  #end(code: "closed" | "connection", message: string): void {
    if (this.closed.aborted) return;
    this.#closed.abort(new TaskClientError(code, message));
    this.onclose?.();
  }
}

/** The failure of a message in another session says nothing about this one. */
function isForOtherSession(headers: Readonly<Record<string, string>>): boolean {
  return headers[sessionHeader] !== undefined;
}
