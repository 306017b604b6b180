import { isStopping } from "../../../task/fault.ts";
import type { Secret } from "../../../task/secret.ts";
import { isInitializeRequest, isJSONRPCRequest, type JSONRPCMessage } from "@modelcontextprotocol/server";
import type { StoreClock } from "../../../runtime/clock.ts";
import { type DispatchedServer, isRequest } from "../../dispatch/dispatch-transport.ts";
import type { SessionDispatcher } from "../../sessions/session-dispatcher.ts";
import type { TaskServer } from "../../task-server.ts";
import type { Outgoing } from "../exchange.ts";
import type { SessionSettings } from "../http-options.ts";
import type { Sender } from "../identify.ts";
import type { StreamAnswer } from "../outgoing-stream.ts";
import { shareOf, type Share } from "../../limits.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { type BrokenRequests, readPost } from "./requests.ts";
import { DurableState, sessionKey, type SessionRecords } from "./session-records.ts";
import {
  type EventId,
  EventIds,
  type EventLimits,
  EventLog,
  type EventMemory,
  joinedBy,
  messageOf,
  type OpenCall,
} from "./event-log.ts";
import { authInfoOf, extraInfo, factoryContext, type Incoming } from "./incoming.ts";
import {
  alreadyInitialized,
  notAcceptable,
  nothingToResume,
  sessionNotFound,
  sessionsUnreadable,
  tooManyOpen,
} from "./refusals.ts";
import {
  answeredIds,
  type AnswerForm,
  cancelledId,
  acceptedForm,
  isPoll,
  requestIds,
  ServerRequestIds,
} from "./request-ids.ts";
import { SessionUse, type StoredState } from "./session-state.ts";
import { SessionStream, SessionStreams, standaloneNumber } from "./session-streams.ts";
import { SessionTransport } from "./session-transport.ts";

/** What all sessions of a process share. */
export interface SessionHost extends SessionSettings {
  readonly server: TaskServer;
  readonly clock: StoreClock;
  readonly limits: EventLimits;
  readonly memory: EventMemory;
  readonly broken: BrokenRequests;
  readonly unread: UnreadBytes;
  /** Left out if each request chooses. */
  readonly answerForm?: AnswerForm | undefined;
  /** Left out if no session is stored. */
  readonly records: SessionRecords | undefined;
  /** Called when a session becomes idle, and when it is used again. */
  readonly onIdle: (session: Session, idle: boolean) => void;
  /** Called once, however a session ended. */
  readonly onEnd: (session: Session) => void;
}

/** Maximum number of bytes waiting on a stream whose client does not read. It can resume the stream later. */
const maxBacklog = 16 * 1024 * 1024;

/**
 * A message of a client that came to another process: an answer to what this one asked, a cancel of a request that it answers, or news for
 * its author's server.
 */
interface Forwarded {
  /** The name of the session's log there. */
  readonly from: string;
  readonly message: JSONRPCMessage;
  /** The scopes of its token; undefined if tokens have none. */
  readonly scopes: readonly string[] | undefined;
}

/** One session: an author's server, its transport, its owner and its lifetime. */
export class Session {
  readonly id: string;
  /** Its name in the store. */
  readonly key: string;
  /** The principal that opened it; others cannot find it. */
  readonly principal: string | null;
  /** Who shares what is limited. */
  readonly share: Share;
  readonly #host: SessionHost;
  readonly #state: DurableState;
  /** They know whether the session began in another process. */
  readonly #ids: ServerRequestIds;
  readonly #log: EventLog;
  readonly #streams: SessionStreams;
  readonly #transport: SessionTransport;
  #session: DispatchedServer<SessionDispatcher> | undefined;
  readonly #use: SessionUse;
  #isClosing = false;
  #ended = false;

  private constructor(
    id: string,
    owner: Sender,
    host: SessionHost,
    eventKey: Secret | undefined,
    isRestored: boolean,
  ) {
    this.id = id;
    this.key = sessionKey(id);
    const share = shareOf(owner);
    this.principal = owner.principal;
    this.share = share;
    this.#host = host;
    const { clock, server, records } = host;
    this.#use = new SessionUse(host, {
      idle: (idle) => host.onIdle(this, idle),
      over: (isUnused) => void this.#idledOut(isUnused),
      store: () => void records?.extend([this.extended()]),
    });
    const { onError } = server;
    this.#state = new DurableState(this, records, { transport: () => this.#transport, onError });
    const name = clock.uniqueName().slice(0, 8);
    this.#ids = new ServerRequestIds(name, isRestored);
    this.#log = new EventLog(name, new EventIds(this.key, eventKey), host.limits, host.memory, share);
    this.#streams = new SessionStreams({
      sessionKey: this.key,
      log: this.#log,
      awaitReturn: (lost) => host.broken.add(share, lost),
      catchUp: async () => void (await this.#state.catchUp()),
      reserve: host.unread.reserveFor(share),
    });
    this.#transport = new SessionTransport({
      sessionId: id,
      streams: this.#streams,
      answerForm: host.answerForm,
      count: (cut) => host.unread.open(share, cut),
      isSettled: (...asked) => this.#session?.dispatcher.isSettled(...asked),
      maxBacklog,
      onConnection: (connection) => {
        this.#use.enter();
        connection.whenEnded(() => this.#use.leave());
      },
      serverRequestIds: this.#ids,
      isRepeatable: (request) => server.isRepeatable(request),
      beforeAnswer: (answer) => this.#state.answered(answer),
    });
    Object.assign(this.#transport, { onclose: () => this.#end() });
  }

  /** A session with an author's server, before its first request; rejects if the server cannot be made, after reporting it. */
  static async open(id: string, incoming: Incoming, host: SessionHost, isRestored = false): Promise<Session> {
    const { owner } = incoming;
    const { server, records } = host;
    const session = new Session(id, owner, host, await records?.eventKey(), isRestored);
    session.#session = await server.openSession(factoryContext(incoming), owner, session.#streams);
    await session.#session.connect(session.#transport).catch((error: unknown) => {
      server.onError(error);
      throw error;
    });
    return session;
  }

  /** As `open`, for a session that moves here from another process; also rejects if its state is refused. */
  static async restore(
    id: string,
    incoming: Incoming,
    host: SessionHost,
    stored: StoredState,
  ): Promise<Session> {
    const session = await Session.open(id, incoming, host, true);
    try {
      await session.#state.replay(stored, extraInfo(incoming));
      session.#use.goesOn();
      await session.#session?.dispatcher.followTasks();
      return session;
    } catch (error) {
      if (!isStopping(error)) host.server.onError(error);
      await session.close();
      throw error;
    }
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** When it ends unless it is used, in epoch milliseconds. */
  get endsAt(): number {
    return this.#use.endsAt;
  }

  /** How many of its responses stay open until the client has answered a question. */
  get asking(): number {
    return this.#streams.asking;
  }

  /** Answers a request that belongs to this session. */
  fetch(incoming: Incoming): Promise<Outgoing> {
    return this.#counted(() => {
      const { method } = incoming.request;
      if (method === "POST") return this.#post(incoming);
      return method === "GET" ? this.#get(incoming) : this.#delete(incoming);
    });
  }

  /** Answers a poll as JSON; undefined if it is none, or needs a look. */
  poll({ request: { headers }, body, owner, admitted }: Incoming): Promise<Outgoing> | undefined {
    const agreed = this.#session?.dispatcher.protocolVersion;
    if (agreed === undefined || (headers.get("mcp-protocol-version") ?? agreed) !== agreed) return undefined;
    if (!isPoll(body) || !isRequest(body)) return undefined;
    if (acceptedForm(headers.get("accept")) === undefined) return undefined;
    this.#streams.needs(admitted.needed);
    this.#state.requested(body);
    return this.#counted(() => this.#transport.poll(body, authInfoOf(owner)));
  }

  /** Ends its streams and open requests. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#session?.close();
    await this.#transport.close(); // in case the author's server was closed before, or never connected
  }

  /** Its end is being stored. */
  extended(): this {
    this.#use.stored();
    return this;
  }

  /** The session was changed in another process, or ended. */
  async changed(): Promise<void> {
    if (!(await this.#state.catchUp())) await this.close();
  }

  /** Handles a message that another process forwarded. */
  receive(text: string): void {
    const { from, message, scopes } = JSON.parse(text) as Forwarded;
    if (from === this.#log.name || this.#ended || !this.#ids.concern(message)) return;
    const cancelled = cancelledId(message);
    if (cancelled !== undefined && !this.#transport.isOpen(cancelled)) return;
    const needed = this.#neededFor([message]);
    if (scopes !== undefined && !needed.every((scope) => scopes.includes(scope))) return;
    this.#state.received([message]);
    this.#transport.forwarded(message);
  }

  /** Forwards messages to other processes that may need them; resolves with false on failure. */
  async #forward(messages: readonly JSONRPCMessage[], scopes: Forwarded["scopes"]): Promise<boolean> {
    for (const message of messages) {
      if (!this.#ids.concernOthers(message)) continue;
      const forwarded: Forwarded = { from: this.#log.name, message, scopes };
      if ((await this.#host.records?.tell(this.key, JSON.stringify(forwarded))) === false) return false;
    }
    return true;
  }

  /** The session is not idle meanwhile. */
  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#use.enter();
    this.#use.requested();
    try {
      return await work();
    } finally {
      this.#use.leave();
    }
  }

  async #post(incoming: Incoming): Promise<Outgoing> {
    const agreed = this.#session?.dispatcher.protocolVersion;
    const messages = readPost(incoming.request, incoming.body, agreed);
    if (messages instanceof Response) return messages;
    if (this.#use.isUsed && messages.some(isInitializeRequest)) return alreadyInitialized();
    const refused =
      (await this.#transport.refusal(incoming, messages)) ??
      this.#tooManyOpen(incoming.body, isPoll(incoming.body) ? 0 : requestIds(incoming.body).length) ??
      incoming.admitted.refusal(this.#neededFor(messages));
    if (refused !== undefined) return refused;
    this.#streams.needs(incoming.admitted.needed);
    this.#state.received(messages);
    const response = await this.#transport.post(messages, incoming);
    const isPassedOn = await this.#forward(messages, incoming.owner.access?.scopes);
    // The answer to a batch with requests has begun.
    return isPassedOn || messages.some((message) => isJSONRPCRequest(message))
      ? response
      : sessionsUnreadable(true);
  }

  /** `more`: how many requests come with `body`. */
  #tooManyOpen(body: unknown, more: number): Response | undefined {
    const { maxOpenRequestsPerSession: most } = this.#host;
    return more > 0 && this.#streams.unanswered + more > most
      ? tooManyOpen(body, "session", most)
      : undefined;
  }

  /** Opens the stream of the session, or resumes a stream that broke. */
  async #get(incoming: Incoming): Promise<Outgoing> {
    const { headers } = incoming.request;
    if (!/text\/event-stream/i.test(headers.get("accept") ?? "")) {
      return notAcceptable("Client must accept text/event-stream");
    }
    const eventId = headers.get("last-event-id") || null; // an empty one is none
    const last = eventId === null ? undefined : this.#log.ids.parse(eventId);
    if (eventId !== null && last === undefined) return nothingToResume();
    const refused =
      (await this.#transport.refusal(incoming)) ??
      incoming.admitted.refusal(last === undefined ? [] : [...this.#streams.needed]);
    if (refused !== undefined) return refused;
    // Of the log of another process, the client has seen nothing in this one.
    const isOurs = last?.log === this.#log.name;
    const after = last && (isOurs ? last.event : 0);
    if (last === undefined || last.stream === standaloneNumber) {
      return this.#resume(this.#streams.standalone, after, incoming);
    }
    if (!isOurs) return this.#resumeEarlier(last.calls, incoming);
    const stream = this.#streamOf(last);
    return stream === undefined ? nothingToResume() : this.#resume(stream, after, incoming);
  }

  /** The rest of a stream, after the event of that number. */
  #resume(stream: SessionStream, after: number | undefined, incoming: Incoming): StreamAnswer {
    const response = this.#transport.carry(stream, incoming, () => {
      // Else a client whose connection breaks before the next message would not know what to resume.
      if (this.#transport.takesPriming(incoming)) stream.prime(after);
      if (after !== undefined) stream.replay(after);
    });
    // A stream that is complete.
    if (stream.number !== standaloneNumber && this.#streams.numbered(stream.number) === undefined) {
      stream.disconnect();
    }
    return response;
  }

  /** Answers requests that came to an earlier process, on a stream of this one. */
  async #resumeEarlier(calls: readonly OpenCall[], incoming: Incoming): Promise<Outgoing> {
    if (calls.length === 0) return nothingToResume();
    return incoming.admitted.admit(calls.map(messageOf), async (admitted) => {
      const needed = [
        ...admitted.needed,
        ...(await this.#host.server.scopesOfTasks(calls.map(joinedBy), this.principal)),
      ];
      const refused = admitted.refusal(needed);
      if (refused !== undefined) return refused;
      if (this.#transport.isClosed) return sessionNotFound();
      // The client has come back for them before, and lost that connection too.
      const known = calls.map(({ id }) => this.#streams.of(id)).find((stream) => stream !== undefined);
      if (known !== undefined) return this.#resume(known, 0, incoming);
      const full = this.#tooManyOpen(undefined, calls.length);
      if (full !== undefined) return full;
      const extra = extraInfo(incoming);
      const session = this.#session;
      const stream = this.#streams.begin(calls, [...incoming.admitted.needed, ...needed]);
      const response = this.#resume(stream, undefined, incoming);
      for (const call of calls) {
        if (call.request !== undefined) this.#transport.receive([messageOf(call)], extra);
        else session?.answer(call.id, session.dispatcher.resume(call.id, call.task, extra), extra);
      }
      return response;
    });
  }

  /** The stream of an event of this process; undefined if nothing can follow on it. */
  #streamOf({ stream, event }: EventId): SessionStream | undefined {
    if (event > this.#log.last) return undefined;
    const missed = this.#log.after(event, stream).length > 0;
    return this.#streams.numbered(stream) ?? (missed ? new SessionStream(stream, [], this.#log) : undefined);
  }

  async #delete(incoming: Incoming): Promise<Response> {
    const refused = await this.#transport.refusal(incoming);
    if (refused !== undefined) return refused;
    await this.close();
    await this.#host.records?.delete(this.key); // after the response, nobody finds it
    return new Response(null, { status: 200 });
  }

  /** The scopes that are needed for answers and cancels of the client. */
  #neededFor(messages: readonly JSONRPCMessage[]): string[] {
    const cancelled = messages.flatMap((message) => cancelledId(message) ?? []);
    return this.#streams.neededToEnd(answeredIds(messages), cancelled);
  }

  async #idledOut(isUnused: () => boolean): Promise<void> {
    const { server, records } = this.#host;
    const isKept = await records?.keepWithTasks(this); // before it is gone here, so that it is found all the time
    if (!isUnused()) return;
    await this.close().catch(server.onError);
    if (isKept !== true) await records?.deleteUnextended(this);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#use.end();
    this.#log.clear();
    if (!this.#isClosing) void this.#host.records?.delete(this.key); // its author's server ended it
    this.#host.onEnd(this);
  }
}
