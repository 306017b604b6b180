import { isInitializeRequest, isSpecType, type JSONRPCRequest } from "@modelcontextprotocol/server";
import type { Clock } from "../../../runtime/clock.ts";
import type { DispatchedServer } from "../../dispatch/dispatched-server.ts";
import type { SessionDispatcher } from "../../sessions/session-dispatcher.ts";
import type { TaskServer } from "../../task-server.ts";
import type { Outgoing } from "../exchange.ts";
import type { Sender } from "../identify.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import type { BrokenRequests } from "./broken-requests.ts";
import { DurableState } from "./durable-state.ts";
import { EventLog, type EventLimits } from "./event-log.ts";
import type { EventMemory } from "./event-memory.ts";
import { authInfoOf, extraInfo, factoryContext, type Incoming, type PolledSession } from "./incoming.ts";
import { readPost } from "./read-post.ts";
import { Resumption } from "./resumption.ts";
import { alreadyInitialized, tooManyOpen } from "./refusals.ts";
import { answeredIds, cancelledId, isPoll, requestIds } from "./requests-in.ts";
import { sessionKey, type SessionRecords } from "./session-records.ts";
import { ServerRequestIds } from "./server-request-ids.ts";
import type { SessionState } from "./session-state.ts";
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
  /** Left out where no session is stored. */
  readonly records: SessionRecords | undefined;
  /** How many requests may be open, with or without a connection. */
  readonly maxOpenRequests: number;
  /** Called when the session becomes idle, and when it is used again. */
  readonly onIdle: (idle: boolean) => void;
  /** Called once, however the session ended. */
  readonly onEnd: (session: Session) => void;
}

/** How many bytes may wait on a stream whose client does not read. It can resume the stream later. */
const maxBacklog = 16 * 1024 * 1024;

/** One session: an author's server, its transport, and who may use it for how long. */
export class Session implements PolledSession {
  readonly id: string;
  /** Its name in the store. */
  readonly key: string;
  /** Who opened it; others do not find it. */
  readonly principal: string | null;
  readonly #setup: SessionSetup;
  readonly #state: DurableState;
  readonly #log: EventLog;
  readonly #streams: SessionStreams;
  readonly #transport: SessionTransport;
  readonly #resumption: Resumption;
  #session: DispatchedServer<SessionDispatcher> | undefined;
  /** The first one is the handshake. */
  #requests = 0;
  #open = 0;
  #ended = false;
  /** Undefined while it is used, and before. */
  #endsAt: number | undefined;
  #cancelIdle: () => void = () => undefined;

  private constructor(id: string, principal: string | null, setup: SessionSetup, isRestored: boolean) {
    this.id = id;
    this.key = sessionKey(id);
    this.principal = principal;
    this.#setup = setup;
    this.#state = new DurableState(this, setup.records);
    const name = setup.clock.uniqueName().slice(0, 8);
    this.#log = new EventLog(name, setup.limits, setup.memory, principal);
    this.#streams = new SessionStreams(this.key, this.#log, (lost) => setup.broken.add(principal, lost));
    this.#transport = new SessionTransport({
      sessionId: id,
      streams: this.#streams,
      count: (cut) => setup.unread.open(principal, cut),
      maxBacklog,
      onConnection: (connection) => {
        this.#enter();
        connection.whenEnded(() => this.#leave());
      },
      serverRequestIds: isRestored ? new ServerRequestIds(name) : undefined,
      isRepeatable: (request) => setup.server.isRepeatable(request),
      beforeAnswer: (answer) => this.#state.answered(answer),
    });
    this.#resumption = new Resumption({
      server: setup.server,
      principal,
      log: this.#log,
      streams: this.#streams,
      transport: this.#transport,
      maxOpenRequests: setup.maxOpenRequests,
      session: () => this.#session,
    });
    this.#transport.onclose = () => this.#end();
  }

  /**
   * A session with an author's server, before its first request; rejects where that cannot be made, once it was reported.
   */
  static async open(
    id: string,
    incoming: Incoming,
    setup: SessionSetup,
    isRestored = false,
  ): Promise<Session> {
    const { owner } = incoming;
    const session = new Session(id, owner.principal, setup, isRestored);
    session.#session = await setup.server.openSession(factoryContext(incoming), owner, session.#streams);
    await session.#session.connect(session.#transport).catch((error: unknown) => {
      setup.server.onError(error);
      throw error;
    });
    return session;
  }

  /** As `open`, for a session of an earlier process, which goes on; rejects where its state is refused, too. */
  static async restore(
    id: string,
    incoming: Incoming,
    setup: SessionSetup,
    state: SessionState,
  ): Promise<Session> {
    const session = await Session.open(id, incoming, setup, true);
    try {
      await session.#state.replay(state, session.#transport, extraInfo(incoming), setup.server.onError);
      session.#requests = 2; // its handshake, and what used it
      await session.#session?.dispatcher.followTasks();
      return session;
    } catch (error) {
      setup.server.onError(error);
      await session.close();
      throw error;
    }
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** When it ends unless it is used, in epoch milliseconds. */
  get endsAt(): number {
    return this.#endsAt ?? this.#setup.clock.now() + this.#leftMs;
  }

  /** How many of its responses stay open until the client has answered a question. */
  get asking(): number {
    return this.#streams.asking;
  }

  /** Answers a request that belongs to this session. */
  fetch(incoming: Incoming): Promise<Outgoing> {
    return this.#counted(async () => {
      switch (incoming.request.method) {
        case "POST":
          return this.#post(incoming);
        case "GET":
          return this.#resumption.get(incoming);
        default:
          return this.#delete(incoming);
      }
    });
  }

  takes(message: unknown, version: string | null): message is JSONRPCRequest {
    if (!isPoll(message) || !isSpecType.JSONRPCRequest(message)) return false;
    const agreed = this.#session?.dispatcher.protocolVersion;
    return agreed !== undefined && (version === null || version === agreed);
  }

  poll(message: JSONRPCRequest, sender: Sender, needed: readonly string[]): Promise<Outgoing> {
    this.#streams.needs(needed);
    return this.#counted(() => this.#transport.poll(message, authInfoOf(sender)));
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
    if (this.#requests === 2) void this.#setup.records?.extend([this]); // it had less time before
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #post(incoming: Incoming): Promise<Outgoing> {
    const messages = readPost(incoming.request, incoming.body);
    if (messages instanceof Response) return messages;
    if (this.#requests > 1 && messages.some(isInitializeRequest)) return alreadyInitialized();
    const refused =
      (await this.#transport.refusal(incoming, messages)) ??
      this.#tooManyOpen(incoming) ??
      incoming.refusal(
        this.#streams.neededToEnd(
          answeredIds(messages),
          messages.flatMap((message) => cancelledId(message) ?? []),
        ),
      );
    if (refused !== undefined) return refused;
    this.#streams.needs(incoming.needed);
    this.#state.received(messages);
    return this.#transport.post(messages, incoming);
  }

  #tooManyOpen({ body }: Incoming): Response | undefined {
    const { maxOpenRequests } = this.#setup;
    const more = isPoll(body) ? 0 : requestIds(body).length;
    return more > 0 && this.#streams.unanswered + more > maxOpenRequests
      ? tooManyOpen(body, "session", maxOpenRequests)
      : undefined;
  }

  async #delete(incoming: Incoming): Promise<Response> {
    const refused = await this.#transport.refusal(incoming);
    if (refused !== undefined) return refused;
    await this.close();
    await this.#setup.records?.delete(this.key); // after the response, nobody finds it
    return new Response(null, { status: 200 });
  }

  get #leftMs(): number {
    const { idleMs, unusedMs } = this.#setup;
    return this.#requests > 1 ? idleMs : Math.min(idleMs, unusedMs);
  }

  #enter(): void {
    this.#open += 1;
    this.#endsAt = undefined;
    this.#cancelIdle();
    this.#setup.onIdle(false);
  }

  #leave(): void {
    this.#open -= 1;
    if (this.#open > 0 || this.#ended) return;
    const { clock, server, onIdle } = this.#setup;
    onIdle(true);
    this.#endsAt = clock.now() + this.#leftMs;
    this.#cancelIdle = clock.after(this.#leftMs, () => {
      this.close().catch(server.onError);
    });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelIdle();
    this.#log.clear();
    this.#setup.onEnd(this);
  }
}
