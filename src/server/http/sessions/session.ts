import { isSpecType, type JSONRPCRequest } from "@modelcontextprotocol/server";
import type { Clock } from "../../../runtime/clock.ts";
import type { Answer } from "../../answer.ts";
import type { DispatchedServer } from "../../dispatch/dispatched-server.ts";
import type { SessionDispatcher } from "../../sessions/session-dispatcher.ts";
import type { TaskServer } from "../../task-server.ts";
import { answerText, type Outgoing } from "../exchange.ts";
import type { Sender } from "../identify.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { keepAliveComment } from "../sse.ts";
import { watchedBody } from "../watched-body.ts";
import { EventLog, type EventLimits } from "./event-log.ts";
import type { EventMemory } from "./event-memory.ts";
import { factoryContext, transportOptions, type Incoming, type PolledSession } from "./incoming.ts";
import { isStream, jsonAnswer } from "./json-answer.ts";
import type { BrokenRequests } from "./broken-requests.ts";
import { methodNotAllowed, sessionNotFound, tooManyOpen } from "./refusals.ts";
import { acceptsBoth, answeredIds, cancelledIds, requestIds, wantsJson } from "./requests-in.ts";
import { SessionStreams } from "./session-streams.ts";
import { SessionTransport } from "./session-transport.ts";

export interface SessionSetup {
  readonly server: TaskServer;
  readonly clock: Clock;
  readonly idleMs: number;
  /** As `idleMs`, for a session that was not used after its handshake. */
  readonly unusedMs: number;
  readonly limits: EventLimits;
  readonly memory: EventMemory;
  readonly broken: BrokenRequests;
  readonly unread: UnreadBytes;
  /** How many requests may be open, with or without a connection. */
  readonly maxOpenRequests: number;
  /** Called when the session becomes idle, and when it is used again. */
  readonly onIdle: (idle: boolean) => void;
  /** Called once, however the session ended. */
  readonly onEnd: () => void;
}

/** How many bytes may wait on a stream whose client does not read. It can resume the stream later. */
const maxBacklog = 16 * 1024 * 1024;

/** The body of the response to a poll that was cancelled. */
const cancelled: Answer = { error: { code: -32603, message: "Cancelled" } };

/** How long clients wait before they resume a stream that the server closed, in ms. */
const retryMs = 1_000;

/** One session: an author's server, the SDK's transport, and what is known of its streams. */
export class Session implements PolledSession {
  readonly id: string;
  /** Who opened it; others do not find it. */
  readonly principal: string | null;
  readonly #setup: SessionSetup;
  readonly #streams: SessionStreams;
  readonly #log: EventLog;
  readonly #transport: SessionTransport;
  #session: DispatchedServer<SessionDispatcher> | undefined;
  /** The scopes that any request needed: a resumed stream may have messages of each. */
  readonly #needed = new Set<string>();
  /** The first one is the handshake. */
  #requests = 0;
  #open = 0;
  #ended = false;
  #cancelIdle: () => void = () => undefined;
  /** Ends the standalone stream. */
  #standalone = new AbortController();

  private constructor(id: string, principal: string | null, setup: SessionSetup) {
    this.id = id;
    this.principal = principal;
    this.#setup = setup;
    this.#streams = new SessionStreams(id, (lost) => setup.broken.add(principal, lost));
    this.#log = new EventLog(setup.limits, setup.memory, principal);
    this.#transport = new SessionTransport({
      sessionIdGenerator: () => id,
      eventStore: this.#log,
      retryInterval: retryMs,
    });
    this.#transport.onanswer = (request) => this.#streams.answered(request);
    this.#transport.on = (request, work) => this.#log.about([request], work);
    this.#transport.onquestion = (question, call) => this.#streams.asked(question, call);
    this.#transport.onwithdrawal = (question) => this.#streams.settled(question);
    this.#transport.instead = () => (this.#streams.standaloneOpen ? undefined : this.#streams.newest);
    this.#transport.onclose = () => this.#end();
  }

  /**
   * A session with an author's server, before its first request; rejects where that cannot be made, once it was reported.
   */
  static async open(id: string, incoming: Incoming, setup: SessionSetup): Promise<Session> {
    const { owner } = incoming;
    const session = new Session(id, owner.principal, setup);
    session.#session = await setup.server.openSession(factoryContext(incoming), owner, session.#streams);
    await session.#session.connect(session.#transport).catch((error: unknown) => {
      setup.server.onError(error);
      throw error;
    });
    return session;
  }

  /** How many of its responses stay open until the client has answered a question. */
  get asking(): number {
    return this.#streams.asking;
  }

  /** Answers a request that belongs to this session. */
  fetch(incoming: Incoming): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    const { headers } = request;
    const isPoll =
      request.method === "POST" && !headers.has("last-event-id") && acceptsBoth(headers.get("accept"));
    return isPoll && this.takes(body, headers.get("mcp-protocol-version"))
      ? this.poll(body, owner, incoming.needed)
      : this.#counted(() => this.#fetch(incoming));
  }

  /** Other messages go to the SDK's transport: they need a stream, or may be invalid. */
  takes(message: unknown, version: string | null): message is JSONRPCRequest {
    // Only some sessions have `tasks/delete`, which the SDK decides.
    if (!wantsJson(message) || !isSpecType.JSONRPCRequest(message) || message.method === "tasks/delete")
      return false;
    const agreed = this.#session?.dispatcher.protocolVersion;
    return agreed !== undefined && (version === null || version === agreed);
  }

  poll(message: JSONRPCRequest, { authInfo }: Sender, needed: readonly string[]): Promise<Outgoing> {
    for (const scope of needed) this.#needed.add(scope);
    return this.#counted(async () => {
      const extra = authInfo === undefined ? {} : { authInfo };
      const answer = (await this.#session?.handle(message, extra)) ?? (this.#ended ? undefined : cancelled);
      if (answer === undefined) return sessionNotFound();
      return { status: 200, json: answerText(message.id, answer), sessionId: this.id };
    });
  }

  /** Ends its streams and open requests. */
  async close(): Promise<void> {
    await this.#session?.close();
    await this.#transport.close(); // in case the author's server was closed before, or never connected
  }

  /** The session is not idle meanwhile. */
  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#requests += 1;
    this.#enter();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #fetch(incoming: Incoming): Promise<Response> {
    const { request, body } = incoming;
    const eventId = request.headers.get("last-event-id") || null; // an empty one is none
    // The stream would end at once, and the client would resume it again and again.
    if (request.method === "GET" && eventId !== null && !this.#log.canResume(eventId)) {
      return methodNotAllowed("POST, DELETE");
    }
    const ids = requestIds(body);
    const { maxOpenRequests } = this.#setup;
    if (!wantsJson(body) && ids.length > 0 && this.#streams.unanswered + ids.length > maxOpenRequests) {
      return tooManyOpen(body, "session", maxOpenRequests);
    }
    const answered = answeredIds(body);
    const beyond = incoming.refusal([
      ...this.#streams.neededToEnd(answered, cancelledIds(body)),
      ...(eventId === null ? [] : this.#needed),
    ]);
    if (beyond !== undefined) return beyond;
    for (const scope of incoming.needed) this.#needed.add(scope);
    for (const question of answered) this.#streams.settled(question);
    // Read before the reply is handled, which may remove it.
    const kept = this.#streams.kept(answered);
    // A request that is answered without a stream cannot be resumed, nor ask a question.
    if (wantsJson(body)) for (const id of ids) this.#log.withhold(id);
    else this.#streams.received(ids, incoming.needed);
    const { arrivals } = this.#streams;
    const standalone = request.method === "GET" && (eventId === null || this.#log.isStandalone(eventId));
    // The client has lost its last one, which the server may not have noticed.
    if (standalone) this.#standalone.abort();
    const resumed = eventId === null || standalone ? [] : this.#log.requestsOf(eventId);
    const onStream = [...ids, ...resumed];
    const response = await this.#log.about(onStream, () =>
      this.#transport.handleRequest(request, transportOptions(incoming)),
    );
    const { body: stream } = response;
    if (stream === null || !isStream(response)) {
      // They are answered by this response, or not at all.
      for (const id of ids) {
        this.#streams.answered(id);
        this.#log.forget(id);
      }
      await this.#endCancelled(body);
      if (response.ok) await kept; // after a 202 the client does not answer again
      return response;
    }
    this.#streams.resumed(resumed);
    await this.#endCancelled(body); // a batch may cancel its own requests
    if (standalone) {
      this.#standalone = new AbortController();
      this.#streams.standaloneOpened(incoming.owner.access?.scopes);
    }
    const signals = standalone ? [request.signal, this.#standalone.signal] : [request.signal];
    this.#enter();
    const watched = watchedBody(stream, {
      signal: AbortSignal.any(signals),
      count: (cut) => this.#setup.unread.open(this.principal, cut),
      // Adapters send the headers with the first chunk, without which the client does not know that its stream is open.
      opening: keepAliveComment,
      maxBacklog,
      onEnd: (end) => {
        if (standalone) this.#streams.standaloneEnded();
        else if (end === "abandoned") this.#streams.broken(onStream, arrivals);
        this.#leave();
      },
    });
    const [id] = ids;
    if (id !== undefined && wantsJson(body)) return jsonAnswer(response, watched, id);
    return new Response(watched, { status: response.status, headers: response.headers });
  }

  async #endCancelled(body: unknown): Promise<void> {
    for (const id of cancelledIds(body)) {
      const alone = this.#streams.awaitsOnly(id);
      if (!alone && !this.#streams.awaits(id) && !this.#log.withholds(id)) continue;
      this.#log.withhold(id);
      // Others of its batch may still be answered on the stream.
      const ended = alone ? this.#transport.endUnanswered(id) : this.#transport.answerCancelled(id);
      await ended.catch(this.#setup.server.onError);
    }
  }

  #enter(): void {
    this.#open += 1;
    this.#cancelIdle();
    this.#setup.onIdle(false);
  }

  #leave(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#ended) return;
    const { clock, idleMs, unusedMs, server, onIdle } = this.#setup;
    onIdle(true);
    const used = this.#requests > 1;
    this.#cancelIdle = clock.after(used ? idleMs : Math.min(idleMs, unusedMs), () => {
      this.close().catch(server.onError);
    });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelIdle();
    this.#log.clear();
    this.#streams.end();
    this.#setup.onEnd();
  }
}
