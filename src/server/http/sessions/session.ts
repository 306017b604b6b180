import type { McpServer } from "@modelcontextprotocol/server";
import type { Clock } from "../../../runtime/clock.ts";
import type { TaskServer } from "../../task-server.ts";
import { EventLog, type EventLimits } from "./event-log.ts";
import type { EventMemory } from "./event-memory.ts";
import { factoryContext, transportOptions, type Incoming } from "./incoming.ts";
import { isStream, jsonAnswer } from "./json-answer.ts";
import type { BrokenRequests } from "./broken-requests.ts";
import { methodNotAllowed, tooManyOpen } from "./refusals.ts";
import { answeredIds, cancelledIds, requestIds, wantsJson } from "./requests-in.ts";
import { SessionStreams } from "./session-streams.ts";
import { SessionTransport } from "./session-transport.ts";
import { watchedBody } from "./watched-body.ts";

export interface SessionSetup {
  readonly server: TaskServer;
  readonly clock: Clock;
  readonly idleMs: number;
  /** As `idleMs`, for a session whose client sent nothing after its handshake. */
  readonly unusedMs: number;
  readonly limits: EventLimits;
  readonly memory: EventMemory;
  readonly broken: BrokenRequests;
  /** How many requests may wait for their answers, whether their connections are there or not. */
  readonly maxOpenRequests: number;
  /** Called when nothing of the session is open any more, and when something is again. */
  readonly onIdle: (idle: boolean) => void;
  /** Called once, however the session ended. */
  readonly onEnd: () => void;
}

/** After a stream was closed by the server, clients come back in so many milliseconds. */
const retryMs = 1_000;

/** One session: an author's server, the SDK's transport, and what is known of its streams. */
export class Session {
  readonly id: string;
  /** Who opened it; to all others it is unknown. */
  readonly principal: string | null;
  readonly #setup: SessionSetup;
  readonly #streams: SessionStreams;
  readonly #log: EventLog;
  readonly #transport: SessionTransport;
  #mcp: McpServer | undefined;
  /** All scopes that requests needed: what was sent on a stream may be of any of them. */
  readonly #needed = new Set<string>();
  /** The first one is the handshake. */
  #requests = 0;
  #open = 0;
  #ended = false;
  #cancelIdle: () => void = () => undefined;
  /** Gives up the stream that belongs to no request. */
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

  /** A session with an author's server, before its first request; rejects where that cannot be made, once it was reported. */
  static async open(id: string, incoming: Incoming, setup: SessionSetup): Promise<Session> {
    const { owner } = incoming;
    const session = new Session(id, owner.principal, setup);
    session.#mcp = await setup.server.create(factoryContext(incoming), owner, session.#streams);
    await session.#mcp.connect(session.#transport).catch((error: unknown) => {
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
  async fetch(incoming: Incoming): Promise<Response> {
    this.#requests += 1;
    this.#enter();
    try {
      return await this.#fetch(incoming);
    } finally {
      this.#leave();
    }
  }

  /** Ends its streams and what is in flight. */
  async close(): Promise<void> {
    await this.#mcp?.close();
    await this.#transport.close(); // where the author's server was closed before, or never connected
  }

  async #fetch(incoming: Incoming): Promise<Response> {
    const { request, body } = incoming;
    const eventId = request.headers.get("last-event-id") || null; // an empty one is none
    // Nothing comes on it any more, and a stream that ends at once would be asked for again and again.
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
    // Known from before the answer is taken, for it may be kept at once.
    const kept = this.#streams.kept(answered);
    // What is answered without a stream has none to come back to, nor to ask on.
    if (wantsJson(body)) for (const id of ids) this.#log.withhold(id);
    else this.#streams.received(ids, incoming.needed);
    const { arrivals } = this.#streams;
    const standalone = request.method === "GET" && (eventId === null || this.#log.isStandalone(eventId));
    // Who asks for it again has lost it, which nobody here may have noticed: a path that went silent ends no connection.
    if (standalone) this.#standalone.abort();
    const resumed = eventId === null || standalone ? [] : this.#log.requestsOf(eventId);
    const onStream = [...ids, ...resumed];
    const response = await this.#log.about(onStream, () =>
      this.#transport.handleRequest(request, transportOptions(incoming)),
    );
    const { body: stream } = response;
    if (stream === null || !isStream(response)) {
      // By this response, or not at all.
      for (const id of ids) {
        this.#streams.answered(id);
        this.#log.forget(id);
      }
      await this.#endCancelled(body);
      if (response.ok) await kept; // a 202 tells the client that it need not answer again
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
    const watched = watchedBody(stream, AbortSignal.any(signals), (end) => {
      if (standalone) this.#streams.standaloneEnded();
      else if (end === "abandoned") this.#streams.broken(onStream, arrivals);
      this.#leave();
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
