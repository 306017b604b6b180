import { isStopping } from "../../../task/fault.ts";
import type { Secret } from "../../../task/secret.ts";
import { isInitializeRequest, isJSONRPCRequest, type JSONRPCMessage } from "@modelcontextprotocol/server";
import type { Clock } from "../../../runtime/clock.ts";
import { type DispatchedServer, isRequest } from "../../dispatch/dispatch-transport.ts";
import type { SessionDispatcher } from "../../sessions/session-dispatcher.ts";
import type { TaskServer } from "../../task-server.ts";
import type { Outgoing } from "../exchange.ts";
import type { Sender } from "../identify.ts";
import { shareOf, type Share } from "../../limits.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { type BrokenRequests, readPost } from "./requests.ts";
import { DurableState, sessionKey, type SessionRecords } from "./session-records.ts";
import { EventIds, type EventLimits, EventLog, type EventMemory } from "./event-log.ts";
import { authInfoOf, extraInfo, factoryContext, type Incoming } from "./incoming.ts";
import { Resumption } from "./resumption.ts";
import { alreadyInitialized, sessionsUnreadable, tooManyOpen } from "./refusals.ts";
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
import { SessionStreams } from "./session-streams.ts";
import { SessionTransport } from "./session-transport.ts";
import type { OnError } from "../../faults.ts";

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
  /** Left out if each request chooses. */
  readonly answerForm?: AnswerForm | undefined;
  /** Left out if no session is stored. */
  readonly records: SessionRecords | undefined;
  /** How many requests may be open, with or without a connection. */
  readonly maxOpenRequests: number;
  /** Called when the session becomes idle, and when it is used again. */
  readonly onIdle: (idle: boolean) => void;
  /** Called once, however the session ended. */
  readonly onEnd: (session: Session) => void;
}

/** Maximum number of bytes waiting on a stream whose client does not read. It can resume the stream later. */
const maxBacklog = 16 * 1024 * 1024;

/** One session: an author's server, its transport, its owner and its lifetime. */
export class Session {
  readonly id: string;
  /** Its name in the store. */
  readonly key: string;
  /** The principal that opened it; others cannot find it. */
  readonly principal: string | null;
  /** Who shares what is limited. */
  readonly share: Share;
  readonly #setup: SessionSetup;
  readonly #state: DurableState;
  readonly #forwarded: ForwardedMessages;
  readonly #log: EventLog;
  readonly #streams: SessionStreams;
  readonly #transport: SessionTransport;
  readonly #resumption: Resumption;
  #session: DispatchedServer<SessionDispatcher> | undefined;
  readonly #use: SessionUse;
  #isClosing = false;
  #ended = false;

  private constructor(
    id: string,
    owner: Sender,
    setup: SessionSetup,
    { eventKey, isRestored }: { readonly eventKey: Secret | undefined; readonly isRestored: boolean },
  ) {
    this.id = id;
    this.key = sessionKey(id);
    const share = shareOf(owner);
    this.principal = owner.principal;
    this.share = share;
    this.#setup = setup;
    const { clock, idleMs, unusedMs, onIdle, server } = setup;
    const { onError } = server;
    this.#use = new SessionUse({
      clock,
      idleMs,
      unusedMs,
      onIdle,
      onOver: (isUnused) => void this.#idledOut(isUnused),
      store: () => void setup.records?.extend([this.extended()]),
    });
    this.#state = new DurableState(this, setup.records, { transport: () => this.#transport, onError });
    const name = setup.clock.uniqueName().slice(0, 8);
    const ids = new ServerRequestIds(name, isRestored);
    this.#forwarded = new ForwardedMessages({ key: this.key, name, ids, isRestored, onError }, setup.records);
    this.#log = new EventLog(name, new EventIds(this.key, eventKey), setup.limits, setup.memory, share);
    this.#streams = new SessionStreams({
      sessionKey: this.key,
      log: this.#log,
      awaitReturn: (lost) => setup.broken.add(share, lost),
      catchUp: async () => void (await this.#state.catchUp()),
      reserve: setup.unread.reserveFor(share),
    });
    this.#transport = new SessionTransport({
      sessionId: id,
      streams: this.#streams,
      answerForm: setup.answerForm,
      count: (cut) => setup.unread.open(share, cut),
      isSettled: (...asked) => this.#session?.dispatcher.isSettled(...asked),
      maxBacklog,
      onConnection: (connection) => {
        this.#use.enter();
        connection.whenEnded(() => this.#use.leave());
      },
      serverRequestIds: ids,
      isRepeatable: (request) => setup.server.isRepeatable(request),
      beforeAnswer: (answer) => this.#state.answered(answer),
    });
    this.#resumption = new Resumption({
      server: setup.server,
      principal: this.principal,
      log: this.#log,
      streams: this.#streams,
      transport: this.#transport,
      maxOpenRequests: setup.maxOpenRequests,
      session: () => this.#session,
    });
    Object.assign(this.#transport, { onclose: () => this.#end() });
  }

  /** A session with an author's server, before its first request; rejects if the server cannot be made, after reporting it. */
  static async open(
    id: string,
    incoming: Incoming,
    setup: SessionSetup,
    isRestored = false,
  ): Promise<Session> {
    const { owner } = incoming;
    const eventKey = await setup.records?.eventKey();
    const session = new Session(id, owner, setup, { eventKey, isRestored });
    session.#session = await setup.server.openSession(factoryContext(incoming), owner, session.#streams);
    await session.#session.connect(session.#transport).catch((error: unknown) => {
      setup.server.onError(error);
      throw error;
    });
    return session;
  }

  /** As `open`, for a session that moves here from another process; also rejects if its state is refused. */
  static async restore(
    id: string,
    incoming: Incoming,
    setup: SessionSetup,
    stored: StoredState,
  ): Promise<Session> {
    const session = await Session.open(id, incoming, setup, true);
    try {
      await session.#state.replay(stored, extraInfo(incoming));
      session.#use.goesOn();
      await session.#session?.dispatcher.followTasks();
      return session;
    } catch (error) {
      if (!isStopping(error)) setup.server.onError(error);
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
    const forwarded = this.#forwarded.decode(text);
    if (forwarded === undefined || this.#ended) return;
    const { message, scopes } = forwarded;
    const cancelled = cancelledId(message);
    if (cancelled !== undefined && !this.#transport.isOpen(cancelled)) return;
    const needed = this.#neededFor([message]);
    if (scopes !== undefined && !needed.every((scope) => scopes.includes(scope))) return;
    this.#state.received([message]);
    this.#transport.forwarded(message);
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
      this.#tooManyOpen(incoming) ??
      incoming.admitted.refusal(this.#neededFor(messages));
    if (refused !== undefined) return refused;
    this.#streams.needs(incoming.admitted.needed);
    this.#state.received(messages);
    const response = await this.#transport.post(messages, incoming);
    const isPassedOn = await this.#forwarded.passOn(messages, incoming.owner.access?.scopes);
    // The answer to a batch with requests has begun.
    return isPassedOn || messages.some((message) => isJSONRPCRequest(message))
      ? response
      : sessionsUnreadable(true);
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

  /** The scopes that are needed for answers and cancels of the client. */
  #neededFor(messages: readonly JSONRPCMessage[]): string[] {
    const cancelled = messages.flatMap((message) => cancelledId(message) ?? []);
    return this.#streams.neededToEnd(answeredIds(messages), cancelled);
  }

  async #idledOut(isUnused: () => boolean): Promise<void> {
    const { server, records } = this.#setup;
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
    if (!this.#isClosing) void this.#setup.records?.delete(this.key); // its author's server ended it
    this.#setup.onEnd(this);
  }
}

/** A message of a client that came to another process. */
export interface Forwarded {
  readonly message: JSONRPCMessage;
  /** The scopes of its token; undefined if tokens have none. */
  readonly scopes: readonly string[] | undefined;
}

/** One session in one process. */
interface Place {
  /** The name of the session in the store. */
  readonly key: string;
  /** Another one in each process. */
  readonly name: string;
  readonly ids: ServerRequestIds;
  /** Whether the session began in another process. */
  readonly isRestored: boolean;
  readonly onError: OnError;
}

/**
 * Messages of a client that other processes need which serve the same session: answers to what they asked, cancels of requests
 * that they answer, and news for their author's servers.
 */
export class ForwardedMessages {
  readonly #place: Place;
  /** Undefined if no other process knows of the session. */
  readonly #records: SessionRecords | undefined;

  constructor(place: Place, records: SessionRecords | undefined) {
    this.#place = place;
    this.#records = records;
  }

  /** Passes messages that the client sent here to other processes that may need them; resolves with false on failure. */
  async passOn(messages: readonly JSONRPCMessage[], scopes: readonly string[] | undefined): Promise<boolean> {
    const { key, name, onError } = this.#place;
    if (this.#records === undefined) return true;
    try {
      for (const message of messages) {
        if (!this.#isForOthers(message)) continue;
        await this.#records.tell(key, JSON.stringify({ from: name, message, scopes }));
      }
      return true;
    } catch (error) {
      if (!isStopping(error)) onError(error);
      return false;
    }
  }

  /** A message that another process forwarded; undefined for one from this process, and for one that has no use here. */
  decode(text: string): Forwarded | undefined {
    const { from, message, scopes } = JSON.parse(text) as Forwarded & { readonly from: string };
    if (from === this.#place.name) return undefined;
    return this.#isWanted(message) ? { message, scopes } : undefined;
  }

  #isForOthers(message: JSONRPCMessage): boolean {
    const { ids, isRestored } = this.#place;
    if (!("method" in message)) return message.id !== undefined && ids.isOfAnother(message.id);
    switch (message.method) {
      case "notifications/cancelled": // the client may have resumed the request in one process, and cancel it in another
      case "notifications/roots/list_changed":
        return true;
      case "notifications/initialized": // for the process that answered the handshake
        return isRestored;
      default:
        return false;
    }
  }

  #isWanted(message: JSONRPCMessage): boolean {
    const { ids, isRestored } = this.#place;
    if (!("method" in message)) return message.id !== undefined && ids.isOurs(message.id);
    return message.method !== "notifications/initialized" || !isRestored;
  }
}
