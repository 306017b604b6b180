import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { isJSONRPCResponse } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { Line } from "./line.ts";
import { requestIdHeader, retryAfterMs, sessionHeader } from "./noted-fetch.ts";
import { PendingRequests, type Pending } from "./pending-requests.ts";
import { brokenStream, noAnswer, sendFailure } from "./send-failure.ts";
import type { RawRequestOptions, SentRequest } from "./raw-request.ts";
import { SessionRenewal } from "./session-renewal.ts";
import { Takers } from "./takers.ts";

interface RawRequesterOptions {
  readonly clock: ClientClock;
  /** A last look at what the SDK's own client sends. */
  readonly amend: (message: JSONRPCMessage) => JSONRPCMessage;
  /** A first look at what it is given. */
  readonly admit: (message: JSONRPCMessage) => JSONRPCMessage;
}

interface Outgoing {
  readonly message: JSONRPCRequest & { id: string };
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when nothing more is to come on the request's stream. */
  readonly sending: AbortSignal;
  readonly pending: Pending;
}

/** What a handshake may take. */
const handshakeMs = 30_000;

/**
 * The transport under the SDK's client, with a second sender: `request` goes out on the same connection under ids of
 * its own and gets the answer unread, since the SDK's client throws on a task as the answer to a call.
 */
export class RawRequester implements Transport {
  /** As the transport below: whether an aborted request closes a stream of its own, or has to be taken back. */
  readonly hasPerRequestStream: boolean;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** Those who are shown what the server sends by itself. */
  readonly takers = new Takers();
  /** Whether somebody may still want the session when the connection is closed. */
  isSessionNeeded: () => Promise<boolean> = async () => false;
  readonly #line: Line;
  readonly #options: RawRequesterOptions;
  readonly #pending = new PendingRequests();
  readonly #renewal: SessionRenewal;
  readonly #over = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(line: Line, options: RawRequesterOptions) {
    const { transport } = line;
    this.#line = line;
    this.#options = options;
    this.hasPerRequestStream = transport.hasPerRequestStream === true;
    this.#renewal = new SessionRenewal({
      clock: options.clock,
      sessionId: () => transport.sessionId,
      over: this.over,
      initialize: async (params) => {
        const deadline = options.clock.deadline(handshakeMs);
        const reply = this.request("initialize", params, deadline.signal);
        return reply.finally(() => deadline.clear());
      },
      initialized: async () => {
        this.#pending.lose(this.session);
        await this.#transmit({ jsonrpc: "2.0", method: "notifications/initialized" });
      },
    });
    // Only a request can tell whether the session is gone; an answered one changes nothing.
    line.onStreamLost?.(() => void this.request("ping", {}, this.over).catch(() => undefined));
    transport.onclose = () =>
      this.#end("connection", "The connection ended: the server, or its process, is gone");
    transport.onerror = (error) => this.onerror?.(error);
    transport.onmessage = (message, extra) => {
      if (!this.#pending.take(message) && !this.takers.take(message))
        this.onmessage?.(options.admit(message), extra);
    };
  }

  /** Aborts once the connection is over for good, with the TaskClientError that says why. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Whether it was the other side that ended it. */
  get endedThere(): boolean {
    const reason: unknown = this.over.reason;
    return reason instanceof TaskClientError && reason.code === "connection";
  }

  /** The id of the session, where the line has sessions that another one can be used beside. */
  get sessionId(): string | undefined {
    return this.#line.notes === undefined ? undefined : this.#line.transport.sessionId;
  }

  /** Counts the sessions: the ids of a server's requests mean something only in the session that they came in. */
  get session(): number {
    return this.#renewal.session;
  }

  async start(): Promise<void> {
    await this.#line.transport.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const amended = this.#options.amend(message);
    this.#renewal.note(amended);
    const { session } = this;
    try {
      await this.#transmit(amended, options);
    } catch (error) {
      const renewed = await this.#renewal.after(error, session);
      if (renewed?.kind !== "value") throw error;
      // An answer belongs to a request of the session that is gone.
      if (!isJSONRPCResponse(amended)) await this.#transmit(amended, options);
    }
  }

  /** Resolves when nothing is left of the connection; a process that was started for it has been ended. */
  async close(): Promise<void> {
    this.#end("closed", "The connection was closed");
    await (this.#closing ??= this.#leave());
  }

  setProtocolVersion(version: string): void {
    this.#line.transport.setProtocolVersion?.(version);
  }

  /** Sends an answer or a notification, once; resolves with a value if it was taken. */
  async tell(
    message: JSONRPCResultResponse | JSONRPCErrorResponse | JSONRPCNotification,
    { headers = {} }: Pick<RawRequestOptions, "headers"> = {},
  ): Promise<Reply<undefined>> {
    const { session } = this;
    try {
      await this.#transmit(message, { headers });
      return { kind: "value", value: undefined };
    } catch (error) {
      // The message belongs to the session that is gone. Its sender sees that there is a new one, or that none can be had yet.
      const renewed = isElsewhere(headers) ? undefined : await this.#renewal.after(error, session);
      return renewed?.kind === "lost" ? renewed : sendFailure(error);
    }
  }

  /**
   * Sends one request, once; the reply's value is the raw result object. Throws only the signal's reason, or that for
   * which the connection is over. A session that the server has lost is begun anew before.
   */
  async request(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
    { hear, late, sent, onPart, headers = {} }: RawRequestOptions = {},
  ): Promise<Reply<JsonObject>> {
    const either = AbortSignal.any([signal, this.over]);
    const ended = new AbortController();
    either.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    const pending: Pending = { settle: resolve, hear, session: this.session };
    const id = this.#pending.add(pending);
    if (onPart !== undefined) this.#line.notes?.onPart(id, onPart);
    const onAbort = (): void => {
      reject(either.reason as Error);
      if (late === undefined && sent === undefined) this.#takeBack(id, method);
    };
    either.addEventListener("abort", onAbort, { once: true });
    const over = (): void => {
      this.#pending.delete(id);
      this.#line.notes?.delete(id);
      ended.abort();
    };
    // Only a stream that is listened to may stay open after its end.
    const sending =
      late !== undefined ? this.over : hear === undefined ? either : AbortSignal.any([either, ended.signal]);
    sent?.(this.#sentRequest(id, pending));
    this.#send({ message: { jsonrpc: "2.0", id, method, params }, headers, sending, pending }, true);
    let waits = false;
    try {
      const reply = await promise;
      const retryAfter = this.#line.notes?.get(id)?.retryAfter ?? null;
      if (reply.kind !== "value" || retryAfter === null) return reply;
      return { ...reply, retryAfterMs: retryAfterMs(retryAfter, this.#options.clock.now()) };
    } catch (error) {
      waits = late !== undefined && !this.over.aborted;
      throw error;
    } finally {
      either.removeEventListener("abort", onAbort);
      if (waits) this.#pending.redirect(id, (reply) => (over(), late?.(reply)));
      else over();
    }
  }

  #send(outgoing: Outgoing, first: boolean): void {
    const { message, headers, sending, pending } = outgoing;
    const { notes } = this.#line;
    const { id, method } = message;
    const settle = (reply: Reply<JsonObject>): void => this.#pending.get(id)?.settle(reply);
    const onRequestStreamEnd = (): void => settle(brokenStream);
    // A line that many requests share ignores these; another's own fetch would send our header away.
    const options = this.hasPerRequestStream && {
      requestSignal: sending,
      onRequestStreamEnd,
      headers: { ...headers, ...(notes !== undefined && { [requestIdHeader]: id }) },
    };
    const { session } = pending;
    this.#transmit(message, options || {}).then(
      () => {
        if (notes !== undefined && notes.get(id)?.streams !== true) settle(noAnswer);
      },
      async (error: unknown) => {
        const retryAfter = notes?.get(id)?.retryAfter ?? null;
        pending.session = Infinity; // it is not lost with the session: it was not looked at
        const renewed =
          first && method !== "initialize" && !isElsewhere(headers)
            ? await this.#renewal.after(error, session)
            : undefined;
        pending.session = this.session;
        if (renewed?.kind === "value") this.#send(outgoing, false);
        else if (renewed?.kind === "lost") settle({ ...renewed, notReceived: true });
        else settle(renewed ?? sendFailure(error, retryAfterMs(retryAfter, this.#options.clock.now())));
      },
    );
  }

  #sentRequest(id: string, pending: Pending): SentRequest {
    const { notes } = this.#line;
    return {
      id,
      get session() {
        return pending.session;
      },
      get hears() {
        return notes === undefined || notes.get(id)?.streams === true;
      },
    };
  }

  /**
   * The server hears that nobody waits for the answer (X-B-016). Over HTTP the closed stream says so, but before
   * 2026-07-28 it says nothing (C-053), and a request that works has to be called off.
   */
  #takeBack(requestId: string, method: string): void {
    if (this.over.aborted || method === "initialize") return;
    if (this.hasPerRequestStream && !(this.#renewal.canRenew && method === "tools/call")) return;
    const params = { requestId, reason: "Nobody waits for the answer any more" };
    const gone = (): void => undefined;
    this.#transmit({ jsonrpc: "2.0", method: "notifications/cancelled", params }, {}).catch(gone);
  }

  async #transmit(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { transport } = this.#line;
    const { sessionId } = transport;
    await transport.send(message, options);
    this.#renewal.accepted(sessionId);
  }

  async #leave(): Promise<void> {
    if (!(await this.isSessionNeeded())) await this.#line.endSession?.();
    await this.#line.transport.close();
  }

  #end(code: "closed" | "connection", message: string): void {
    if (this.over.aborted) return;
    this.#over.abort(new TaskClientError(code, message));
    this.onclose?.();
  }
}

/** A message of another session says nothing of this one. */
function isElsewhere(headers: Readonly<Record<string, string>>): boolean {
  return headers[sessionHeader] !== undefined;
}
