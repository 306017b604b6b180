import type {
  FetchLike,
  JSONRPCMessage,
  StreamableHTTPClientTransportOptions,
  Transport,
} from "@modelcontextprotocol/client";
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import { notedFetch, requestIdHeader, retryAfterMs, type ResponseNote } from "./noted-fetch.ts";
import type { LostReply, Reply } from "../reply/reply.ts";
import { sendFailure } from "./send-failure.ts";

// Its optional fields are stricter than those of the interface.
type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

interface Pending {
  settle(reply: Reply<JsonObject>): void;
  note: ResponseNote | undefined;
}

interface RawRequesterOptions extends Omit<StreamableHTTPClientTransportOptions, "fetch"> {
  readonly fetch: FetchLike;
  /** A last look at what the SDK's own client sends. */
  readonly amend: (message: JSONRPCMessage) => JSONRPCMessage;
}

/**
 * The transport under the SDK's client, with a second sender: `request` goes out on the same connection under ids of
 * its own and gets the answer unread, since the SDK's client throws on a task as the answer to a call.
 */
export class RawRequester implements Transport {
  // As the SDK's transport does: an aborted request closes its own stream.
  readonly hasPerRequestStream = true;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #amend: (message: JSONRPCMessage) => JSONRPCMessage;
  readonly #clock: ClientClock;
  readonly #pending = new Map<string, Pending>();
  #sent = 0;

  constructor(url: URL, { fetch, amend, ...options }: RawRequesterOptions, clock: ClientClock) {
    this.#amend = amend;
    this.#clock = clock;
    this.#inner = new StreamableHTTPClientTransport(url, {
      ...options,
      // This protocol has no streams to resume; a broken one is ours to repeat.
      reconnectionOptions: {
        initialReconnectionDelay: 0,
        maxReconnectionDelay: 0,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 0,
      },
      fetch: notedFetch(fetch, (requestId, note) => {
        const pending = this.#pending.get(requestId);
        if (pending !== undefined) pending.note = note;
      }),
    });
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message) => {
      if (!this.#isOurs(message)) this.onmessage?.(message);
    };
  }

  async start(): Promise<void> {
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    await this.#inner.send(this.#amend(message), options);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  /** Sends one request, once; the reply's value is the raw result object. Throws only the signal's reason. */
  async request(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<Reply<JsonObject>> {
    signal.throwIfAborted();
    const id = `holdfast-${++this.#sent}`;
    const { promise, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    const pending: Pending = { settle: resolve, note: undefined };
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(id, pending);
    this.#inner
      .send(
        { jsonrpc: "2.0", id, method, params },
        {
          requestSignal: signal,
          headers: { [requestIdHeader]: id },
          onRequestStreamEnd: () => resolve(brokenStream),
        },
      )
      .then(
        () => {
          if (pending.note?.streams !== true) resolve(noAnswer);
        },
        (error: unknown) => {
          resolve(sendFailure(error, retryAfterMs(pending.note?.retryAfter ?? null, this.#clock.now())));
        },
      );
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(id);
    }
  }

  #isOurs(message: JSONRPCMessage): boolean {
    const isResult = isJSONRPCResultResponse(message);
    if (!isResult && !isJSONRPCErrorResponse(message)) return false;
    const pending = typeof message.id === "string" ? this.#pending.get(message.id) : undefined;
    pending?.settle(
      isResult ? { kind: "value", value: message.result } : { kind: "error", error: message.error },
    );
    return pending !== undefined;
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
