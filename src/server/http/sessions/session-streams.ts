import type { RequestId } from "@modelcontextprotocol/server";
import { messageEvent, type OutgoingStream, primingEvent } from "../outgoing-stream.ts";
import type { EventLog, OpenCall } from "./event-log.ts";
import type { ReserveAnswer, Streams } from "../../streams.ts";
import type { AnswerForm } from "./request-ids.ts";

/** The number of the stream that belongs to no request. */
export const standaloneNumber = 0;

/**
 * How long clients wait before they resume a stream, in ms. Those of the SDKs try twice, so a server that is started anew has
 * twice this time.
 */
const retryMs = 3_000;

/** The stream of a message or batch with requests, or the standalone stream. It outlives the connections that carry it. */
export class SessionStream {
  readonly number: number;
  /** Those that it was opened for; none on the standalone stream. */
  readonly requests: readonly RequestId[];
  /** Those that are not answered yet. */
  readonly #calls: Map<RequestId, OpenCall>;
  /** The details in the ids of its events. */
  #suffix: string | undefined;
  /** Undefined if streams cannot be resumed. */
  readonly #log: EventLog | undefined;
  #connection: OutgoingStream | undefined;
  /** Whether its client takes events without a message. */
  #isPrimed = false;

  constructor(number: number, calls: readonly OpenCall[], log: EventLog | undefined) {
    this.number = number;
    this.#calls = new Map(calls.map((call) => [call.id, call]));
    this.requests = [...this.#calls.keys()];
    this.#log = log;
  }

  /** Whether a client reads it now. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  connect(connection: OutgoingStream): void {
    this.#connection = connection;
  }

  /** Ends its connection; the client may resume the stream. */
  disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.complete();
  }

  /** The request is answered by this task, which another request has made. */
  joined(request: RequestId, task: string): void {
    this.#calls.set(request, { id: request, task });
    this.#suffix = undefined;
    if (this.#isPrimed) this.prime();
  }

  /** The answer to the request comes next, or there will be none. */
  closed(request: RequestId): void {
    this.#calls.delete(request);
    this.#suffix = undefined;
  }

  /** `json` is a whole message. */
  write(json: string): void {
    const event = this.#log?.add(this.number, json);
    this.#connection?.write(messageEvent(json, event === undefined ? undefined : this.#idOf(event)));
  }

  /** Tells the client from where it can resume the stream: after the event with that number, by default a new one. */
  prime(after?: number): void {
    this.#isPrimed = true;
    const event = after ?? this.#log?.next();
    if (event !== undefined) this.#connection?.write(primingEvent(this.#idOf(event), retryMs));
  }

  /** Sends what was written after the event of that number. */
  replay(after: number): void {
    for (const { number, json } of this.#log?.after(after, this.number) ?? []) {
      this.#connection?.write(messageEvent(json, this.#idOf(number)));
    }
  }

  #idOf(event: number): string {
    this.#suffix ??= this.#log?.ids.formatCalls([...this.#calls.values()]);
    return `${this.#log?.name}-${this.number}-${event}${this.#suffix ?? ""}`;
  }
}

interface OpenRequest {
  readonly stream: SessionStream;
  readonly form: AnswerForm;
  reachable: boolean;
  /** The unanswered questions of its handler. */
  readonly questions: Set<RequestId>;
  /** The scopes that it needed. */
  readonly needed: string[];
  /** Called when the client resumed its broken stream, or does not have to any more. */
  returned: () => void;
}

/** Waits for a client to resume, and calls `lost` if it does not; returns a function that ends the wait. */
export type AwaitReturn = (lost: () => void) => () => void;

const nothing = (): void => undefined;

export interface SessionStreamsSetup extends Pick<Partial<Streams>, "sessionKey" | "catchUp" | "reserve"> {
  /** Without a log, no stream can be resumed. */
  readonly log?: EventLog;
  readonly awaitReturn?: AwaitReturn;
}

/** The streams of a session and the requests that will be answered on them. Senders read its state and listen to it. */
export class SessionStreams implements Streams {
  readonly sessionKey: string | undefined;
  /** A session begins with `initialize`. */
  readonly initialized = true;
  readonly standalone: SessionStream;
  readonly catchUp: (() => Promise<void>) | undefined;
  readonly reserve: ReserveAnswer | undefined;
  /** The scopes that any request needed: a resumed stream may have messages of each. */
  readonly needed = new Set<string>();
  readonly #log: EventLog | undefined;
  readonly #awaitReturn: AwaitReturn;
  readonly #onStandalone = new Set<(open: boolean) => void>();
  readonly #onBroken = new Set<(request: RequestId) => void>();
  readonly #onLost = new Set<(request: RequestId) => void>();
  /** Unanswered, in the order of their arrival. */
  readonly #open = new Map<RequestId, OpenRequest>();
  /** By question: the reply is acknowledged when this resolves. */
  readonly #kept = new Map<RequestId, Promise<void>>();
  /** By question: the scopes that the reply needs, if any. */
  readonly #replies = new Map<RequestId, readonly string[]>();
  /** The scopes with which the newest standalone stream was opened. */
  #standaloneScopes: readonly string[] | undefined;
  #count = standaloneNumber;

  constructor({ sessionKey, log, awaitReturn = () => nothing, catchUp, reserve }: SessionStreamsSetup = {}) {
    this.catchUp = catchUp;
    this.reserve = reserve;
    this.sessionKey = sessionKey;
    this.#log = log;
    this.#awaitReturn = awaitReturn;
    this.standalone = new SessionStream(standaloneNumber, [], log);
  }

  get processName(): string | undefined {
    return this.#log?.name;
  }

  get areResumable(): boolean {
    return this.#log !== undefined;
  }

  get standaloneOpen(): boolean {
    return this.standalone.isConnected;
  }

  get standaloneScopes(): readonly string[] | undefined {
    return this.#standaloneScopes;
  }

  onStandalone(listener: (open: boolean) => void): () => void {
    this.#onStandalone.add(listener);
    return () => void this.#onStandalone.delete(listener);
  }

  onBroken(listener: (request: RequestId) => void): () => void {
    this.#onBroken.add(listener);
    return () => void this.#onBroken.delete(listener);
  }

  onLost(listener: (request: RequestId) => void): () => void {
    this.#onLost.add(listener);
    return () => void this.#onLost.delete(listener);
  }

  acknowledgeAfter(question: RequestId, kept: Promise<void>): void {
    this.#kept.set(question, kept);
    void kept.finally(() => this.#kept.delete(question));
  }

  /** Resolves once the replies to all of `questions` are stored, or not needed any more. */
  async kept(questions: readonly RequestId[]): Promise<void> {
    for (const question of questions) await this.#kept.get(question);
  }

  joined(request: RequestId, task: string): void {
    this.#open.get(request)?.stream.joined(request, task);
  }

  needs(scopes: readonly string[], request?: RequestId): void {
    for (const scope of scopes) this.needed.add(scope);
    if (request !== undefined) this.#open.get(request)?.needed.push(...scopes);
  }

  replyNeeds(question: RequestId, scopes: readonly string[]): void {
    this.#replies.set(question, scopes);
  }

  /** The scopes that are needed to answer these questions, and to cancel these requests. */
  neededToEnd(questions: readonly RequestId[], requests: readonly RequestId[]): string[] {
    const asking = [...this.#open.values()].filter((call) =>
      questions.some((question) => call.questions.has(question)),
    );
    return [
      ...questions.flatMap((question) => this.#replies.get(question) ?? []),
      ...asking.flatMap(({ needed }) => needed),
      ...requests.flatMap((request) => this.#open.get(request)?.needed ?? []),
    ];
  }

  /** Whether `request` is answered as JSON. */
  answersOnly(request: RequestId): boolean {
    return this.#open.get(request)?.form === "json";
  }

  /** The stream of requests that have arrived; no connection carries one for answers as JSON. An id that is used again means the new request. */
  begin(calls: readonly OpenCall[], needed: readonly string[], form: AnswerForm = "stream"): SessionStream {
    this.#count += 1;
    this.needs(needed);
    const stream = new SessionStream(this.#count, calls, this.#log);
    for (const request of stream.requests) {
      // What was sent on the old stream may never arrive.
      if (this.#open.has(request)) this.#reportBroken(request);
      this.close(request);
      const questions = new Set<RequestId>();
      const reachable = form === "stream";
      const begun = { stream, form, reachable, questions, needed: [...needed], returned: nothing };
      this.#open.set(request, begun);
    }
    return stream;
  }

  /** The stream on which `request` will be answered. */
  of(request: RequestId): SessionStream | undefined {
    return this.#open.get(request)?.stream;
  }

  /** A stream of that number on which requests will be answered. */
  numbered(number: number): SessionStream | undefined {
    return [...this.#open.values()].find(({ stream }) => stream.number === number)?.stream;
  }

  /** `request` was answered, or will not be. When there is nothing more to answer on its stream, that ends. */
  close(request: RequestId): void {
    const open = this.#open.get(request);
    if (open === undefined) return;
    open.returned();
    this.#open.delete(request);
    open.stream.closed(request);
    if (this.#openOn(open.stream).length === 0) open.stream.disconnect();
  }

  /** The session has ended. */
  end(): void {
    for (const request of this.#open.keys()) this.close(request);
    this.standalone.disconnect();
  }

  /**
   * `connection` carries `stream` from now on, replacing the previous one. `scopes`: those of the request that opened it, if they decide
   * what is sent on it. `begin` writes what precedes everything from listeners.
   */
  connect(
    stream: SessionStream,
    connection: OutgoingStream,
    scopes: readonly string[] | undefined,
    begin: () => void = nothing,
  ): void {
    stream.disconnect(); // the client has lost its last connection, which the server may not have noticed
    stream.connect(connection);
    begin();
    connection.whenEnded(() => {
      stream.disconnect();
      this.disconnected(stream);
    });
    if (stream !== this.standalone) {
      for (const [, request] of this.#openOn(stream)) request.returned();
    } else if (connection.isOpen) {
      this.#standaloneScopes = scopes;
      for (const listener of this.#onStandalone) listener(true);
    }
  }

  /** How many requests will be answered on a stream, which may be broken. */
  get unanswered(): number {
    return this.#open.size;
  }

  /** The handler of `call` asked the client; undefined: it did not name the call. */
  asked(question: RequestId, call: RequestId | undefined = this.newest): void {
    if (call !== undefined) this.#open.get(call)?.questions.add(question);
  }

  /** The client has answered, or does not have to any more. */
  settled(question: RequestId): void {
    this.#replies.delete(question);
    for (const { questions } of this.#open.values()) questions.delete(question);
  }

  /** How many responses stay open until their client has answered a question. */
  get asking(): number {
    return [...this.#open.values()].filter(
      ({ stream, reachable, questions }) => stream.requests.length === 1 && reachable && questions.size > 0,
    ).length;
  }

  /** The newest request whose stream reaches the client; without any, the newest that is answered as JSON. */
  get newest(): RequestId | undefined {
    const open = [...this.#open];
    const newest =
      open.findLast(([, { reachable }]) => reachable) ?? open.findLast(([, { form }]) => form === "json");
    return newest?.[0];
  }

  /** The connection of the stream has ended, or that of its answers as JSON. Clients may resume the streams of requests that are not answered yet. */
  disconnected(stream: SessionStream): void {
    if (stream === this.standalone) {
      for (const listener of this.#onStandalone) listener(false);
      return;
    }
    for (const [request, open] of this.#openOn(stream)) {
      open.reachable = false;
      open.returned();
      this.#reportBroken(request);
      open.returned = this.#awaitReturn(() => {
        for (const listener of this.#onLost) listener(request);
      });
    }
  }

  #openOn(stream: SessionStream): [RequestId, OpenRequest][] {
    return stream.requests.flatMap((request): [RequestId, OpenRequest][] => {
      const open = this.#open.get(request);
      return open?.stream === stream ? [[request, open]] : [];
    });
  }

  #reportBroken(request: RequestId): void {
    for (const listener of this.#onBroken) listener(request);
  }
}
