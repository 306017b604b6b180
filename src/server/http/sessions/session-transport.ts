import {
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isInitializeRequest,
  isJSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type MessageExtraInfo,
  type RequestId,
  type ScopeChallengeHandler,
  type Transport,
  type TransportSendOptions,
  bearerAuthChallengeResponse,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  type AuthInfo,
} from "@modelcontextprotocol/server";
import { relatedTaskOf } from "../../../generation/2025-11-25.ts";
import { relatedTaskOf as relatedSepTaskOf } from "../../../generation/sep-1686.ts";
import type { JsonObject } from "../../../generation/message.ts";
import type { MessageContext } from "../../request.ts";
import type { Outgoing } from "../exchange.ts";
import { streamSignal } from "../http-request.ts";
import {
  eventStream,
  keepAliveComment,
  OutgoingStream,
  type OutgoingStreamOptions,
  type StreamAnswer,
} from "../outgoing-stream.ts";
import type { OpenCall } from "./event-log.ts";
import { extraInfo, type Incoming } from "./incoming.ts";
import { sessionNotFound, unsupportedVersion } from "./refusals.ts";
import {
  acceptedForm,
  answeredIds,
  type AnswerForm,
  cancelledId,
  isPoll,
  type ServerRequestIds,
} from "./request-ids.ts";
import type { SessionStream, SessionStreams } from "./session-streams.ts";
import { cannotBeAsked } from "../../streams.ts";

export interface SessionTransportOptions extends Omit<OutgoingStreamOptions, "signal" | "keepAlive"> {
  /** Left out without sessions. */
  readonly sessionId?: string;
  readonly streams: SessionStreams;
  /** Left out: by the Accept header of each request. */
  readonly answerForm?: AnswerForm | undefined;
  /** Called with each connection that carries a stream. */
  readonly onConnection: (connection: OutgoingStream) => void;
  /** Left out if the author's server can keep its request ids. */
  readonly serverRequestIds?: ServerRequestIds | undefined;
  /** Whether another process can make a request again that this one has not answered. */
  readonly isRepeatable?: (request: JSONRPCRequest) => boolean;
  /** Whether a `tasks/result` waits for nothing, so that it is answered as JSON. */
  readonly isSettled?: (request: JSONRPCRequest, extra: MessageContext) => Promise<boolean> | undefined;
  /** Called with each answer, which is sent when the promise that it may return has resolved. */
  readonly beforeAnswer?: (answer: JSONRPCResponse) => Promise<void> | undefined;
}

const firstWithPriming = "2025-11-25";

/** The answers to a cancelled poll, whose response waits for one, and to a request whose id its client has used again before that. */
const cancelled = { error: { code: -32603, message: "Cancelled" } };
const replaced = { error: { code: -32600, message: "Another request of this session has the same id" } };

/**
 * The server's side of Streamable HTTP before 2026-07-28, in one session, or for one POST without sessions: passes on incoming messages,
 * and sends each outgoing one on its stream.
 */
export class SessionTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  sessionId?: string;
  readonly #options: SessionTransportOptions;
  readonly #streams: SessionStreams;
  /** Requests that are answered as JSON. */
  readonly #waiting = new Map<RequestId, (answer: JSONRPCResponse | undefined) => void>();
  /** Those that the author's server supports. */
  #versions: readonly string[] = SUPPORTED_PROTOCOL_VERSIONS;
  #findScopeChallenge: ScopeChallengeHandler = () => undefined;
  #closed = false;

  constructor(options: SessionTransportOptions) {
    this.#options = options;
    this.#streams = options.streams;
    if (options.sessionId !== undefined) this.sessionId = options.sessionId;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether a request waits for its answer. */
  isOpen(request: RequestId): boolean {
    return this.#streams.of(request) !== undefined || this.#waiting.has(request);
  }

  async start(): Promise<void> {
    // Messages come by `post`.
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#versions = versions;
  }

  setScopeChallengeResolver(find: ScopeChallengeHandler): void {
    this.#findScopeChallenge = find;
  }

  /** Ends the connection of a request's stream, which its client resumes. */
  closeSSEStream(request: RequestId): void {
    this.#streams.of(request)?.disconnect();
  }

  closeStandaloneSSEStream(): void {
    this.#streams.standalone.disconnect();
  }

  /** The refusal of a request whose revision or scopes the author's server does not accept. */
  async refusal(
    { request, owner }: Incoming,
    messages: readonly JSONRPCMessage[] = [],
  ): Promise<Response | undefined> {
    if (this.#closed) return sessionNotFound();
    const version = request.headers.get("mcp-protocol-version");
    if (version !== null && !this.#versions.includes(version) && !messages.some(isInitializeRequest)) {
      return unsupportedVersion(version, this.#versions);
    }
    const requests = messages.filter(isJSONRPCRequest);
    const refused = await scopeRefusal(requests, owner.authInfo, this.#findScopeChallenge);
    return this.#closed ? sessionNotFound() : refused;
  }

  /** Whether a client takes events without data, by the version that it names. */
  takesPriming({ request }: Incoming, messages: readonly JSONRPCMessage[] = []): boolean {
    const handshake = messages.find((message) => isInitializeRequest(message));
    const version =
      handshake?.params.protocolVersion ??
      request.headers.get("mcp-protocol-version") ??
      DEFAULT_NEGOTIATED_PROTOCOL_VERSION;
    return this.#versions.includes(version) && version >= firstWithPriming;
  }

  /** Passes on the messages of a POST, and resolves with its response as soon as that begins. */
  async post(messages: readonly JSONRPCMessage[], incoming: Incoming): Promise<Outgoing> {
    const extra = extraInfo(incoming);
    const answered = answeredIds(messages);
    for (const question of answered) this.#streams.settled(question);
    // Read before the reply is handled, which may remove it.
    const kept = this.#streams.kept(answered);
    const requests = messages.filter(isJSONRPCRequest);
    if (requests.length === 0) {
      this.receive(messages, extra);
      await kept; // after a 202 the client does not answer again
      return new Response(null, { status: 202 });
    }
    const [first] = requests;
    if (first !== undefined) {
      const isSettled = isPoll(incoming.body) || (await this.#isSettled(messages, extra));
      if (typeof isSettled === "object") return this.#jsonOf(isSettled);
      if (isSettled) return this.poll(first, extra);
    }
    if (this.#closed) return sessionNotFound();
    const form = this.#options.answerForm ?? acceptedForm(incoming.request.headers.get("accept"));
    if (form === "json") return this.#answerAsJson(messages, requests, incoming);
    const stream = this.#streams.begin(
      requests.map((request) => this.#callOf(request)),
      incoming.admitted.needed,
    );
    const response = this.carry(stream, incoming);
    const resumable = this.#streams.areResumable && this.takesPriming(incoming, messages);
    if (resumable) stream.prime();
    this.receive(messages, extra, resumable);
    return response;
  }

  /** Whether a POST asks for a result that is there; its answer if it is cancelled before that is known. */
  async #isSettled(
    messages: readonly JSONRPCMessage[],
    extra: MessageContext,
  ): Promise<boolean | JSONRPCResponse> {
    const [request] = messages;
    const asks = messages.length === 1 && isJSONRPCRequest(request) && request.method === "tasks/result";
    const looking = asks ? this.#options.isSettled?.(request, extra) : undefined;
    if (!asks || looking === undefined) return false;
    const answered = this.#answerTo(request.id); // a cancel answers it
    const wait = this.#waiting.get(request.id);
    const isSettled = await Promise.race([looking, answered]);
    if (this.#waiting.get(request.id) === wait) this.#waiting.delete(request.id);
    return isSettled ?? false;
  }

  /** Passes on a request that is answered without a stream, and resolves with the response. */
  async poll(request: JSONRPCRequest, extra: MessageExtraInfo): Promise<Outgoing> {
    if (this.#closed) return sessionNotFound();
    return this.#jsonOf(await this.ask(request, extra));
  }

  /** Passes on a request and resolves with its answer; undefined if the session ends before. */
  ask(request: JSONRPCRequest, extra: MessageExtraInfo): Promise<JSONRPCResponse | undefined> {
    const answer = this.#answerTo(request.id);
    this.receive([request], extra);
    return answer;
  }

  /** Passes on the messages of a POST, and resolves with the answers to its requests as JSON. */
  async #answerAsJson(
    messages: readonly JSONRPCMessage[],
    requests: readonly JSONRPCRequest[],
    incoming: Incoming,
  ): Promise<Outgoing> {
    const { signal } = incoming.request;
    const calls = requests.map(({ id }) => ({ id }));
    const stream = this.#streams.begin(calls, incoming.admitted.needed, "json");
    const answers = Promise.all(calls.map(({ id }) => this.#answerTo(id)));
    const gone = (): void => this.#streams.disconnected(stream);
    signal.addEventListener("abort", gone, { once: true });
    this.receive(messages, extraInfo(incoming));
    if (signal.aborted) gone();
    const sent = (await answers).filter((answer) => answer !== undefined);
    signal.removeEventListener("abort", gone);
    return this.#jsonOf(Array.isArray(incoming.body) && sent.length > 0 ? sent : sent[0]);
  }

  #answerTo(request: RequestId): Promise<JSONRPCResponse | undefined> {
    const { promise, resolve } = Promise.withResolvers<JSONRPCResponse | undefined>();
    this.#waiting.get(request)?.({ jsonrpc: "2.0", id: request, ...replaced });
    this.#waiting.set(request, resolve);
    return promise;
  }

  #jsonOf(answer: JSONRPCResponse | readonly JSONRPCResponse[] | undefined): Outgoing {
    if (answer === undefined) return sessionNotFound(); // it was ended meanwhile
    const { sessionId } = this;
    return { status: 200, json: JSON.stringify(answer), ...(sessionId !== undefined && { sessionId }) };
  }

  /** The response to `incoming`, which carries `stream` from now on; `begin` writes what comes first. */
  carry(stream: SessionStream, { request, owner }: Incoming, begin?: () => void): StreamAnswer {
    const { count, maxBacklog = Infinity, onConnection } = this.#options;
    const connection = new OutgoingStream({
      count,
      maxBacklog,
      signal: streamSignal(request),
      keepAlive: true,
    });
    onConnection(connection);
    // Adapters send the headers with the first chunk, without which the client does not know that its stream is open.
    connection.write(keepAliveComment);
    this.#streams.connect(stream, connection, owner.access?.scopes, begin);
    const session = this.sessionId === undefined ? {} : { "Mcp-Session-Id": this.sessionId };
    return eventStream(connection, session);
  }

  async send(sent: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#closed) throw new Error("The session has ended.");
    const message = this.#options.serverRequestIds?.sent(sent) ?? sent;
    if (!("method" in message)) {
      const before = this.#options.beforeAnswer?.(message);
      if (before !== undefined) await before;
      return this.#answer(message);
    }
    const related = options?.relatedRequestId;
    if ("id" in message) {
      if (!isOfTask(message.params)) this.#streams.asked(message.id, related);
    } else {
      // The client is notified that a question was withdrawn.
      const question = cancelledId(message);
      if (question !== undefined) this.#streams.settled(question);
    }
    this.#streamFor(message, related)?.write(JSON.stringify(message));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#streams.end();
    for (const resolve of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
    this.onclose?.();
  }

  /** Passes on a message that came to another process. */
  forwarded(message: JSONRPCMessage): void {
    for (const question of answeredIds([message])) this.#streams.settled(question);
    this.receive([message], {});
  }

  /** Passes on messages. */
  receive(messages: readonly JSONRPCMessage[], extra: MessageExtraInfo, resumable = false): void {
    for (const message of messages) {
      const more = resumable && isJSONRPCRequest(message) ? this.#closersFor(message.id) : {};
      const ids = this.#options.serverRequestIds;
      const known = ids === undefined ? message : ids.received(message);
      if (known !== undefined) this.onmessage?.(known, { ...extra, ...more });
      const request = cancelledId(message);
      if (request !== undefined) this.#cancelled(request);
    }
  }

  #callOf(request: JSONRPCRequest): OpenCall {
    const { id, method, params } = request;
    if (this.#options.isRepeatable?.(request) !== true) return { id };
    return { id, request: { method, ...(params !== undefined && { params }) } };
  }

  /** For an author's handler that has its client poll. */
  #closersFor(request: RequestId): MessageExtraInfo {
    return {
      closeSSEStream: () => this.closeSSEStream(request),
      closeStandaloneSSEStream: () => this.closeStandaloneSSEStream(),
    };
  }

  /** A request that was cancelled is not answered, which its stream must not wait for. */
  #cancelled(request: RequestId): void {
    this.#streams.close(request);
    this.#waiting.get(request)?.({ jsonrpc: "2.0", id: request, ...cancelled });
    this.#waiting.delete(request);
  }

  #answer(answer: JSONRPCResponse): void {
    const { id } = answer;
    if (id === undefined) throw new Error("An answer without an id has no stream.");
    const resolve = this.#waiting.get(id);
    if (resolve === undefined) {
      const stream = this.#streamOf(id);
      stream.closed(id); // a client that has this answer has nothing to come back for
      stream.write(JSON.stringify(answer));
      this.#streams.close(id);
    } else {
      this.#waiting.delete(id);
      this.#streams.close(id);
      resolve(answer);
    }
  }

  /**
   * An author's `elicitInput` and similar calls do not say to which call they belong. If a call is answered as JSON, what cannot wait for
   * the answer goes to the standalone stream, and all else that is about the call is dropped.
   */
  #streamFor(
    message: JSONRPCRequest | JSONRPCNotification,
    related: RequestId | undefined,
  ): SessionStream | undefined {
    const { standalone, newest } = this.#streams;
    const isRequest = "id" in message;
    const request = related ?? (isRequest && !standalone.isConnected ? newest : undefined);
    if (request === undefined) return standalone;
    if (!this.#streams.answersOnly(request)) return this.#streamOf(request);
    if (isRequest && !standalone.isConnected) throw new Error(cannotBeAsked);
    return isRequest || isOfTask(message.params) ? standalone : undefined;
  }

  #streamOf(request: RequestId): SessionStream {
    const stream = this.#streams.of(request);
    if (stream === undefined) throw new Error(`Request ${String(request)} has no stream.`);
    return stream;
  }
}

/** Whether a message to the client is about a task, and not about the call that it is sent for. */
function isOfTask(params: JsonObject = {}): boolean {
  return relatedTaskOf(params) !== undefined || relatedSepTaskOf(params) !== undefined;
}

/** The refusal of requests whose sender lacks scopes that the author's server requires; undefined if it lacks none. */
export async function scopeRefusal(
  requests: readonly JSONRPCRequest[],
  authInfo: AuthInfo | undefined,
  find: ScopeChallengeHandler,
): Promise<Response | undefined> {
  for (const request of requests) {
    const challenge = await find({ request, ...(authInfo !== undefined && { authInfo }) });
    if (challenge === undefined) continue;
    const { scopes, errorDescription = "Insufficient scope" } = challenge;
    const resourceMetadataUrl = metadataUrl(authInfo);
    return bearerAuthChallengeResponse(new OAuthError(OAuthErrorCode.InsufficientScope, errorDescription), {
      requiredScopes: [...scopes],
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    });
  }
  return undefined;
}

function metadataUrl(authInfo: AuthInfo | undefined): string | undefined {
  if (authInfo?.resourceMetadataUrl !== undefined) return authInfo.resourceMetadataUrl;
  const { resource } = authInfo ?? {};
  return resource !== undefined && /^https?:$/.test(resource.protocol)
    ? getOAuthProtectedResourceMetadataUrl(resource)
    : undefined;
}
