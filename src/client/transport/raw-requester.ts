import type {
  JSONRPCMessage,
  JSONRPCNotification,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCResultResponse,
} from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { LostReply, Reply } from "../reply/reply.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { Line } from "./line.ts";
import { requestIdHeader, retryAfterMs } from "./noted-fetch.ts";
import { sendFailure } from "./send-failure.ts";

interface RawRequesterOptions {
  readonly clock: ClientClock;
  /** A last look at what the SDK's own client sends. */
  readonly amend: (message: JSONRPCMessage) => JSONRPCMessage;
}

type Settle = (reply: Reply<JsonObject>) => void;

/** What a notification is to a request: another's, its own, or its end. */
export type Heard = "other" | "mine" | "end";

type Hear = (notification: JSONRPCNotification, id: string) => Heard;

interface Pending {
  readonly settle: Settle;
  readonly hear: Hear | undefined;
}

const idPrefix = "holdfast-";

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
  readonly #line: Line;
  readonly #options: RawRequesterOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #over = new AbortController();
  #closing: Promise<void> | undefined;
  #sent = 0;

  constructor(line: Line, options: RawRequesterOptions) {
    const { transport } = line;
    this.#line = line;
    this.#options = options;
    this.hasPerRequestStream = transport.hasPerRequestStream === true;
    transport.onclose = () =>
      this.#end("connection", "The connection ended: the server, or its process, is gone");
    transport.onerror = (error) => this.onerror?.(error);
    transport.onmessage = (message, extra) => {
      if (!this.#isOurs(message)) this.onmessage?.(message, extra);
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

  async start(): Promise<void> {
    await this.#line.transport.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    await this.#line.transport.send(this.#options.amend(message), options);
  }

  /** Resolves when nothing is left of the connection; a process that was started for it has been ended. */
  async close(): Promise<void> {
    this.#end("closed", "The connection was closed");
    await (this.#closing ??= this.#line.transport.close());
  }

  setProtocolVersion(version: string): void {
    this.#line.transport.setProtocolVersion?.(version);
  }

  /**
   * Sends one request, once; the reply's value is the raw result object. Throws only the signal's reason, or that for
   * which the connection is over. With `hear`, the request is one that is answered by notifications first.
   */
  async request(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
    hear?: Hear,
  ): Promise<Reply<JsonObject>> {
    const either = AbortSignal.any([signal, this.over]);
    const ended = new AbortController();
    either.throwIfAborted();
    const id = `${idPrefix}${++this.#sent}`;
    const { promise, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    const onAbort = (): void => {
      reject(either.reason as Error);
      this.#takeBack(id);
    };
    either.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(id, { settle: resolve, hear });
    // Only a stream that is listened to may stay open after its end.
    const sending = hear === undefined ? either : AbortSignal.any([either, ended.signal]);
    this.#send({ jsonrpc: "2.0", id, method, params }, sending, resolve);
    try {
      return await promise;
    } finally {
      either.removeEventListener("abort", onAbort);
      this.#pending.delete(id);
      this.#line.notes?.delete(id);
      ended.abort();
    }
  }

  #send(message: JSONRPCMessage & { id: string }, requestSignal: AbortSignal, settle: Settle): void {
    const { transport, notes } = this.#line;
    const onRequestStreamEnd = (): void => settle(brokenStream);
    const headers = { [requestIdHeader]: message.id };
    // A line that many requests share ignores these; another's own fetch would send the header away.
    const options = this.hasPerRequestStream && {
      requestSignal,
      onRequestStreamEnd,
      ...(notes !== undefined && { headers }),
    };
    transport.send(message, options || {}).then(
      () => {
        if (notes !== undefined && notes.get(message.id)?.streams !== true) settle(noAnswer);
      },
      (error: unknown) => {
        const retryAfter = notes?.get(message.id)?.retryAfter ?? null;
        settle(sendFailure(error, retryAfterMs(retryAfter, this.#options.clock.now())));
      },
    );
  }

  /** The server hears that nobody waits for the answer (X-B-016); over HTTP the closed stream says so. */
  #takeBack(requestId: string): void {
    if (this.hasPerRequestStream || this.over.aborted) return;
    const params = { requestId, reason: "Nobody waits for the answer any more" };
    const gone = (): void => undefined;
    this.#line.transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params }, {}).catch(gone);
  }

  /** An answer that comes too late is ours too, and nobody's. */
  #isOurs(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return this.#isHeard(message);
    const isResult = isJSONRPCResultResponse(message);
    if (!isResult && !isJSONRPCErrorResponse(message)) return false;
    if (typeof message.id !== "string" || !message.id.startsWith(idPrefix)) return false;
    const pending = this.#pending.get(message.id);
    pending?.settle(
      isResult ? { kind: "value", value: message.result } : { kind: "error", error: message.error },
    );
    return true;
  }

  #isHeard(notification: JSONRPCNotification): boolean {
    for (const [id, { hear, settle }] of this.#pending) {
      const heard = hear?.(notification, id) ?? "other";
      if (heard === "end") settle({ kind: "value", value: {} });
      if (heard !== "other") return true;
    }
    return false;
  }

  #end(code: "closed" | "connection", message: string): void {
    if (this.over.aborted) return;
    this.#over.abort(new TaskClientError(code, message));
    this.onclose?.();
  }
}

const brokenStream: LostReply = {
  kind: "lost",
  notReceived: false,
  retryAfterMs: undefined,
  message: "The answer's stream ended before the answer",
  cause: undefined,
  error: undefined,
};

// The request is over and nothing came under its id, so nothing ever will.
const noAnswer: Reply<never> = {
  kind: "bad",
  code: "protocol",
  message: "The server accepted the request and did not answer it",
};
