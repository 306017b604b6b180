import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type McpServer,
  type MessageExtraInfo,
  type RequestId,
  type ScopeChallengeHandler,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { ReserveMemory } from "../../store/store.ts";
import type { Answer, MessageContext, RequestTrace } from "../request.ts";
import { type AnswerEnd, memoryFor, type ReserveAnswer } from "../streams.ts";
import type { ErrorOf } from "../faults.ts";
import type { ConnectionTraces } from "../tracing.ts";

/** Actions that run once when the answer to a request was sent, or will never be. */
export class AfterAnswers {
  readonly #actions = new Map<RequestId, (end: AnswerEnd) => void>();
  /** Requests whose answers the transport is sending. */
  readonly #sending = new Set<RequestId>();
  #closed = false;

  /** An id that is used again means the new request. */
  add(request: RequestId, action: (end: AnswerEnd) => void): void {
    if (this.#closed) return action("lost");
    const earlier = this.#actions.get(request);
    this.#actions.set(request, (end) => {
      earlier?.(end);
      action(end);
    });
  }

  /** The transport gets the answer. If it closes before it confirms that, the answer counts as sent. */
  sending(request: RequestId): void {
    if (this.#actions.has(request)) this.#sending.add(request);
  }

  end(request: RequestId, end: AnswerEnd): void {
    this.#sending.delete(request);
    const action = this.#actions.get(request);
    this.#actions.delete(request);
    action?.(end);
  }

  close(): void {
    this.#closed = true;
    for (const request of this.#actions.keys())
      this.end(request, this.#sending.has(request) ? "sent" : "lost");
  }
}

/** What a dispatcher uses of its connection. */
export interface Wire {
  /** Sends a message of ours, which the SDK does not see. */
  readonly send: Transport["send"];
  /** Runs `action` once the answer to a request was sent, or will never be. */
  afterAnswer(request: RequestId, action: (end: AnswerEnd) => void): void;
}

/** What a request of ours is answered with. */
export interface DispatchContext {
  /** Aborts when the request is cancelled, and when the connection closes. */
  readonly signal: AbortSignal;
  /** Passes a message to the SDK, as if it had come with the request. */
  readonly forward: (message: JSONRPCMessage) => void;
  /** The trace of the request; undefined if nothing is traced. */
  readonly trace?: RequestTrace | undefined;
  /** As that of a `ToolRequest`. */
  readonly reserve?: ReserveMemory | undefined;
}

/** Answers a request; rejects with its fault, or with the reason of the signal. */
export type Handle = (context: DispatchContext) => Promise<Answer>;

/** What is sent instead of a result of the SDK. */
export type Amend = (result: JsonObject) => JsonObject;

/** Decides which messages of a connection are ours, and answers them. */
export interface WireDispatcher {
  /** The error that a request is answered with for its fault. */
  readonly errorOf: ErrorOf;
  /** As that of its streams. */
  readonly reserve?: ReserveAnswer | undefined;
  /** How a request is answered; undefined for one that the SDK answers. */
  dispatch(request: JSONRPCRequest, extra?: MessageContext): Handle | undefined;
  /** How the SDK's result for a request is amended; undefined: not at all. */
  amendmentFor(request: JSONRPCRequest): Amend | undefined;
  /** Called with each notification and response; true for one that the SDK must not see. */
  received(message: JSONRPCNotification | JSONRPCResponse, extra?: MessageContext): boolean;
  /** Called with each answer of the SDK; true for one that must not be sent. */
  intercepts(answer: JSONRPCResponse): boolean;
  /** The answer to a request was sent, or could not be sent. */
  answered?(request: RequestId): void;
  connected(wire: Wire): void;
  closed(): void;
}

/** What SDK servers, and their authors, use of a transport of Streamable HTTP besides. */
interface HttpTransport {
  setScopeChallengeResolver(resolver: ScopeChallengeHandler): void;
  closeSSEStream(request: RequestId): void;
  closeStandaloneSSEStream(): void;
}

const requestMembers: readonly string[] = ["jsonrpc", "id", "method", "params"];

/** As `isJSONRPCRequest` of the SDK, whose schema costs more than most answers. */
export function isRequest(message: unknown): message is JSONRPCRequest {
  return isPlainRequest(message) || isJSONRPCRequest(message);
}

/** Whether it is a request beyond doubt. */
function isPlainRequest(message: unknown): boolean {
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0" || typeof message["method"] !== "string")
    return false;
  const { id, params } = message;
  if (typeof id !== "string" && !Number.isSafeInteger(id)) return false;
  for (const member in message) if (!requestMembers.includes(member)) return false;
  return params === undefined || (isJsonObject(params) && params["_meta"] === undefined);
}

/**
 * The transport of an SDK server, around the transport to the client. `dispatcher` answers the requests that are ours, and the SDK sees
 * only the others. Everything that SDK servers look for on a transport is delegated.
 */
export class DispatchTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #wire: Transport & Partial<HttpTransport>;
  readonly #dispatcher: WireDispatcher;
  /**
   * By JSON-RPC id; 1 and "1" are two keys of a Map. If an id is used twice, it means the newer request: the older one is not answered, since its
   * answer would be taken for that to the newer one.
   */
  readonly #open = new Map<RequestId, AbortController>();
  readonly #running = new Set<AbortController>();
  /** By request. */
  readonly #amendments = new Map<RequestId, Amend>();
  readonly #afterAnswers = new AfterAnswers();
  readonly #traces: ConnectionTraces | undefined;

  /** `traces`: left out if nothing is traced. */
  constructor(wire: Transport, dispatcher: WireDispatcher, traces?: ConnectionTraces) {
    this.#wire = wire;
    this.#dispatcher = dispatcher;
    this.#traces = traces;
  }

  get sessionId(): string | undefined {
    return this.#wire.sessionId;
  }

  get hasPerRequestStream(): boolean {
    return this.#wire.hasPerRequestStream === true;
  }

  setProtocolVersion(version: string): void {
    this.#wire.setProtocolVersion?.(version);
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#wire.setSupportedProtocolVersions?.(versions);
  }

  /** For an author's server that has its client poll. */
  closeSSEStream(request: RequestId): void {
    this.#wire.closeSSEStream?.(request);
  }

  closeStandaloneSSEStream(): void {
    this.#wire.closeStandaloneSSEStream?.();
  }

  setScopeChallengeResolver(resolver: ScopeChallengeHandler): void {
    this.#wire.setScopeChallengeResolver?.(resolver);
  }

  async start(): Promise<void> {
    const wire = this.#wire;
    const { onclose, onerror } = wire;
    const hears: Pick<Transport, "onmessage" | "onerror" | "onclose"> = {
      onmessage: (message, extra) => this.#receive(message, extra),
      onerror: (error) => {
        onerror?.(error);
        this.onerror?.(error);
      },
      onclose: () => {
        onclose?.();
        this.#closed();
      },
    };
    Object.assign(wire, hears);
    this.#dispatcher.connected({
      send: (message, options) => wire.send(message, options),
      afterAnswer: (request, action) => this.#afterAnswer(request, action),
    });
    await wire.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ("method" in message) return this.#wire.send(message, options);
    if (this.#dispatcher.intercepts(message)) return undefined;
    const amend = message.id === undefined ? undefined : this.#amendments.get(message.id);
    const amended = amend && "result" in message ? { ...message, result: amend(message.result) } : message;
    return this.#sendAnswer(amended, options);
  }

  /** Answers a request that did not come over this wire, and sends the answer over it. */
  answer(id: RequestId, handle: Handle, extra?: MessageContext, trace?: RequestTrace): void {
    this.#answer(id, this.#run(id, handle, extra, trace)).catch((error: unknown) =>
      this.onerror?.(error as Error),
    );
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if (isRequest(message)) {
      const trace = this.#traces?.begin(message);
      if (trace === undefined) this.#request(message, extra);
      else trace.run(() => this.#request(trace.traced(message), extra, trace));
      return;
    }
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) {
      this.#traces?.cancelled(cancelled.id);
      this.#amendments.delete(cancelled.id);
      this.#afterAnswers.end(cancelled.id, "lost");
    }
    if (this.#dispatcher.received(message, extra)) return;
    if (cancelled !== undefined) this.#open.get(cancelled.id)?.abort(cancelled.reason);
    this.onmessage?.(message, extra);
  }

  #request(request: JSONRPCRequest, extra?: MessageExtraInfo, trace?: RequestTrace): void {
    const { id } = request;
    const handle = this.#dispatcher.dispatch(request, extra);
    if (handle !== undefined) {
      this.answer(id, handle, extra, trace);
      return;
    }
    const amend = this.#dispatcher.amendmentFor(request);
    if (amend !== undefined) this.#amendments.set(id, amend);
    this.onmessage?.(request, extra);
  }

  async #run(
    id: RequestId,
    handle: Handle,
    extra?: MessageExtraInfo,
    trace?: RequestTrace,
  ): Promise<Answer | undefined> {
    const controller = new AbortController();
    const { signal } = controller;
    this.#open.set(id, controller);
    this.#running.add(controller);
    const isOver = (): boolean => signal.aborted || this.#open.get(id) !== controller;
    try {
      await Promise.resolve(); // a cancel in the same batch comes first
      if (signal.aborted) return undefined;
      const forward = (message: JSONRPCMessage): void => this.onmessage?.(message, extra);
      const released = (release: () => void): void => this.#afterAnswer(id, release);
      const reserve = memoryFor(controller, this.#dispatcher.reserve, released);
      const answer = await handle({ signal, forward, trace, reserve });
      return isOver() ? undefined : answer;
    } catch (thrown) {
      if (signal.aborted && thrown === signal.reason) return undefined;
      const error = this.#dispatcher.errorOf(thrown); // which reports what the client must not see
      return isOver() ? undefined : { error };
    } finally {
      this.#running.delete(controller);
      if (this.#open.get(id) === controller) this.#open.delete(id);
    }
  }

  /** A request whose id was used again, and answered since, is answered no more: nothing would ever end what waits for that. */
  #afterAnswer(id: RequestId, action: (end: AnswerEnd) => void): void {
    if (this.#open.has(id)) this.#afterAnswers.add(id, action);
    else action("lost");
  }

  async #answer(id: RequestId, answered: Promise<Answer | undefined>): Promise<void> {
    const answer = await answered;
    if (answer !== undefined) await this.#sendAnswer({ jsonrpc: "2.0", id, ...answer });
  }

  async #sendAnswer(answer: JSONRPCResponse, options?: TransportSendOptions): Promise<void> {
    const { id } = answer;
    this.#traces?.answered(answer);
    if (id === undefined) return this.#wire.send(answer, options);
    this.#amendments.delete(id);
    this.#afterAnswers.sending(id);
    let end: AnswerEnd = "lost";
    try {
      await this.#wire.send(answer, options);
      end = "sent";
    } finally {
      this.#afterAnswers.end(id, end);
      this.#dispatcher.answered?.(id);
    }
  }

  #closed(): void {
    this.#dispatcher.closed();
    this.#traces?.close();
    this.#afterAnswers.close();
    this.#amendments.clear();
    this.#open.clear();
    for (const controller of this.#running) controller.abort(new Error("Connection closed"));
    this.onclose?.();
  }
}

/** The request that a notification cancels. */
function cancelledBy(
  message: JSONRPCNotification | JSONRPCResponse,
): { readonly id: RequestId; readonly reason: unknown } | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const { requestId, reason } = message.params ?? {};
  return typeof requestId === "string" || typeof requestId === "number"
    ? { id: requestId, reason }
    : undefined;
}

/** An author's server for one connection, and the dispatcher that answers our requests on it. */
export class DispatchedServer<Dispatcher extends WireDispatcher = WireDispatcher> {
  readonly dispatcher: Dispatcher;
  readonly #mcp: McpServer;
  readonly #onConnected: () => () => void;
  readonly #traces: ConnectionTraces | undefined;
  #transport: DispatchTransport | undefined;

  /** `onConnected` returns a function to call when the connection has ended. `traces`: left out if nothing is traced. */
  constructor(
    mcp: McpServer,
    dispatcher: Dispatcher,
    onConnected: () => () => void,
    traces?: ConnectionTraces,
  ) {
    this.#mcp = mcp;
    this.#onConnected = onConnected;
    this.dispatcher = dispatcher;
    this.#traces = traces;
  }

  async connect(wire: Transport): Promise<void> {
    const transport = new DispatchTransport(wire, this.dispatcher, this.#traces);
    this.#transport = transport;
    transport.onclose = this.#onConnected(); // which the SDK calls too
    await this.#mcp.connect(transport);
  }

  /** As `DispatchTransport.answer`. */
  answer(...args: Parameters<DispatchTransport["answer"]>): void {
    this.#transport?.answer(...args);
  }

  close(): Promise<void> {
    return this.#mcp.close();
  }

  /**
   * For an entry of the SDK, which calls `connect` itself: the author's server, which is not changed, with our `connect`. What
   * else the entry uses is that of the author's server: the private fields of its class are not inherited.
   */
  get server(): McpServer {
    return Object.create(this.#mcp, {
      server: { value: this.#mcp.server },
      connect: { value: (wire: Transport) => this.connect(wire) },
      close: { value: () => this.close() },
    }) as McpServer;
  }
}
