import type { Clock } from "../../../runtime/clock.ts";
import { ConcurrencyLimit } from "../../../runtime/concurrency-limit.ts";
import type { SessionNews } from "../../../store/session-store.ts";
import { isStopping, HoldfastError } from "../../../task/fault.ts";
import { inThisContext } from "../../../runtime/own-context.ts";
import { isHttpRefusal } from "../admission.ts";
import type { Outgoing } from "../exchange.ts";
import type { HttpSession, SessionSettings } from "../http-options.ts";
import { BrokenRequests, readHandshake } from "./requests.ts";
import { type EventLimits, EventMemory } from "./event-log.ts";
import type { EarlierRevisions, Incoming } from "./incoming.ts";
import {
  internalError,
  methodNotAllowed,
  sessionMissing,
  sessionNotFound,
  sessionsUnreadable,
  tooManyOfOne,
  tooManySessions,
} from "./refusals.ts";
import { idToAnswer } from "./request-ids.ts";
import { SessionRecords, sessionKey } from "./session-records.ts";
import { type StoredState, storedUses } from "./session-state.ts";
import { Session, type SessionHost } from "./session.ts";
import { isPrincipal, PerPrincipal, shareOf, type Share } from "../../limits.ts";

export interface SessionsSetup extends Pick<
  SessionHost,
  keyof SessionSettings | "server" | "clock" | "unread" | "answerForm"
> {
  readonly limits?: EventLimits;
  /** For the messages that all sessions store to resume streams, in characters of JSON. */
  readonly memoryBytes?: number;
}

const methods: readonly string[] = ["GET", "POST", "DELETE"];

/** What a session stores to resume streams. */
const defaultLimits: EventLimits = { maxEvents: 1_000, maxBytes: 4 * 1024 * 1024 };

const allSessionsBytes = 256 * 1024 * 1024;

/** How many sessions of an earlier process are made anew at a time, and how long that may take, in ms. */
const mostRestores = 32;
const restoreMs = 30_000;

/** The form of a session's id. */
const form = /^[0-9a-f-]{36}$/;

/** Answers the requests that wait for a session which cannot continue. */
type Refuse = () => Response;

/**
 * Earlier revisions with sessions: Streamable HTTP with a standalone stream for messages of the server. A session of an earlier process
 * continues as soon as its client comes back.
 */
export class Sessions implements EarlierRevisions {
  readonly #host: SessionHost;
  readonly #sessions = new Map<string, Session>();
  /** By their names in the store. */
  readonly #byKey = new Map<string, Session>();
  /** As their author was told of them: those whose handshake was not refused, and that could be continued. */
  readonly #told = new Map<Session, HttpSession>();
  readonly #onOpened: SessionSettings["onSessionOpened"];
  readonly #onClosed: SessionSettings["onSessionClosed"];
  /** Of open sessions, and of those that are being opened. */
  readonly #slots: SessionSlots;
  /** Undefined if the store keeps no sessions. */
  readonly #records: SessionRecords | undefined;
  /** By id and principal. */
  readonly #restoring = new Map<string, Promise<Session | Refuse>>();
  readonly #restores = new ConcurrencyLimit(mostRestores);
  #cancelSweep: (() => void) | undefined;
  #unsubscribe: () => void = () => undefined;
  #closed = false;

  constructor(setup: SessionsSetup) {
    const { server, clock, maxSessions: total, maxSessionsPerPrincipal: ofPrincipal } = setup;
    const {
      memoryBytes = allSessionsBytes,
      limits = defaultLimits,
      onSessionOpened,
      onSessionClosed,
    } = setup;
    this.#onOpened = onSessionOpened && inThisContext(onSessionOpened);
    this.#onClosed = onSessionClosed && inThisContext(onSessionClosed);
    this.#slots = new SessionSlots(setup, (id) => {
      const session = this.#sessions.get(id);
      if (session === undefined) return;
      session.close().catch(server.onError);
      void this.#released(session);
    });
    if (server.sessionStore !== undefined) {
      const { sessionStore: store, secret, onError } = server;
      this.#records = new SessionRecords({ store, secret, clock, room: { total, ofPrincipal }, onError });
      this.#unsubscribe = this.#records.subscribe((news) => this.#onNews(news));
    }
    this.#host = {
      ...setup,
      limits,
      records: this.#records,
      memory: new EventMemory(memoryBytes),
      broken: new BrokenRequests({ ...setup, maxPerPrincipal: setup.maxOpenRequestsPerPrincipal }),
      onIdle: ({ id }, idle) => this.#slots.idle(id, idle),
      onEnd: (session) => this.#ended(session),
    };
  }

  get size(): number {
    return this.#sessions.size;
  }

  get asking(): number {
    let sum = 0;
    for (const session of this.#sessions.values()) sum += session.asking;
    return sum;
  }

  /** The principal's session of this id, if it is in this process; another principal's is not found. */
  find(id: string, principal: string | null): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.principal === principal ? session : undefined;
  }

  poll(incoming: Incoming): Promise<Outgoing> | undefined {
    const id = incoming.request.headers.get("mcp-session-id") ?? "";
    return this.find(id, incoming.owner.principal)?.poll(incoming);
  }

  async fetch(incoming: Incoming): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    if (!methods.includes(request.method)) return methodNotAllowed(methods.join(", "));
    this.#cancelSweep ??= this.#sweepLater();
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const session = this.find(id, owner.principal) ?? (await this.#restored(id, incoming));
      return session instanceof Session ? session.fetch(incoming) : session();
    }
    if (request.method !== "POST") return sessionMissing(request.headers.get("accept"));
    const handshake = readHandshake(request, body);
    return handshake instanceof Response ? handshake : this.#open(incoming);
  }

  /** The sessions of this process end here, and continue in the next one. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSweep?.();
    this.#unsubscribe();
    const sessions = [...this.#sessions.values()];
    await this.#records?.extend(sessions);
    await Promise.all(sessions.map((session) => session.close()));
  }

  async #open(incoming: Incoming): Promise<Outgoing> {
    const answersTo = idToAnswer(incoming.body);
    const id = this.#host.clock.uniqueName();
    const session = await this.#begin(id, incoming, () => Session.open(id, incoming, this.#host));
    if (session === undefined) return internalError(answersTo); // it was reported where it failed
    if (!(session instanceof Session)) return session();
    const answer = await session.fetch(incoming);
    // A refused handshake opens no session.
    if (isHttpRefusal(answer) || this.#closed) await session.close();
    else await this.#opened(session);
    return answer;
  }

  /** The session of an earlier process, or the refusal of requests for it. */
  #restored(id: string, incoming: Incoming): Promise<Session | Refuse> {
    const { principal } = incoming.owner;
    const name = JSON.stringify([id, principal]);
    const restoring =
      this.#restoring.get(name) ?? this.#restore(id, incoming).finally(() => this.#restoring.delete(name));
    this.#restoring.set(name, restoring);
    return restoring;
  }

  async #restore(id: string, incoming: Incoming): Promise<Session | Refuse> {
    if (!form.test(id)) return sessionNotFound;
    const { server, clock } = this.#host;
    let state: StoredState | undefined;
    try {
      state = await this.#records?.find(sessionKey(id), incoming.owner.principal);
    } catch (error) {
      if (!isStopping(error)) server.onError(error);
      return sessionsUnreadable;
    }
    if (state === undefined) return sessionNotFound;
    const known = state;
    const restore = (): Promise<Session> =>
      within(restoreMs, clock, Session.restore(id, incoming, this.#host, known), server.onError);
    const session = await this.#begin(id, incoming, () => this.#restores.run(restore));
    if (this.#closed && session instanceof Session) {
      await session.close(); // nothing else would
      return sessionsUnreadable;
    }
    if (session instanceof Session) {
      await this.#opened(session);
      void this.#records?.extend([session.extended()]);
      await this.#caughtUp(session); // with what was changed meanwhile
    }
    return session ?? sessionNotFound; // the client may begin anew
  }

  /** A session in a slot of its own; undefined if it cannot be made, which `make` reports. */
  async #begin(
    id: string,
    { body, owner }: Incoming,
    make: () => Promise<Session>,
  ): Promise<Session | Refuse | undefined> {
    const { maxSessionsPerPrincipal } = this.#host;
    const full = (): Response => tooManySessions(idToAnswer(body));
    const slot = this.#slots.acquire(id, shareOf(owner));
    if (slot === "server is full") return full;
    if (slot === "principal is full") return () => tooManyOfOne(body, maxSessionsPerPrincipal);
    let session: Session;
    try {
      session = await make();
    } catch {
      this.#slots.release(id);
      return undefined;
    }
    if (session.hasEnded || !this.#slots.has(id)) {
      this.#slots.release(id);
      await session.close();
      return full;
    }
    if (!this.#closed) {
      this.#sessions.set(id, session);
      this.#byKey.set(session.key, session);
    }
    return session;
  }

  #ended(session: Session): void {
    const { id, key } = session;
    if (this.#sessions.get(id) !== session) return; // it never began, and may do so later
    this.#slots.release(id);
    this.#sessions.delete(id);
    this.#byKey.delete(key);
    const told = this.#told.get(session);
    this.#told.delete(session);
    if (told !== undefined) void this.#tell(this.#onClosed, told);
  }

  /** Resolves when its author knows of it. Its client gets no answer before. */
  async #opened(session: Session): Promise<void> {
    if (session.hasEnded) return;
    const told: HttpSession = { id: session.id, principal: session.principal };
    this.#told.set(session, told);
    await this.#tell(this.#onOpened, told);
  }

  async #tell(listener: SessionSettings["onSessionOpened"], session: HttpSession): Promise<void> {
    try {
      await listener?.(session);
    } catch (error) {
      this.#host.server.onError(error);
    }
  }

  /** Stores from time to time which sessions were used, and deletes those that have ended. */
  #sweepLater(): () => void {
    const { clock, sessionIdleMs } = this.#host;
    const records = this.#records;
    if (records === undefined) return () => undefined;
    return clock.after(sessionIdleMs / storedUses, () => {
      if (this.#closed) return;
      this.#cancelSweep = this.#sweepLater();
      const sessions = [...this.#sessions.values()].map((session) => session.extended());
      void records.extend(sessions).then(() => records.sweep());
    });
  }

  /** What became of sessions, in this process or another one. */
  #onNews(news: readonly SessionNews[] | "gap"): void {
    if (news === "gap") {
      for (const session of this.#sessions.values()) void this.#caughtUp(session);
      return;
    }
    for (const { id, message } of news) {
      const session = this.#byKey.get(id);
      if (session === undefined) continue;
      if (message === null) void this.#caughtUp(session);
      else session.receive(message);
    }
  }

  /** Never rejects. */
  async #released(session: Session): Promise<void> {
    if ((await this.#records?.keepWithTasks(session)) !== true)
      await this.#records?.deleteUnextended(session);
  }

  /** Never rejects. */
  #caughtUp(session: Session): Promise<void> {
    return session.changed().catch(this.#host.server.onError);
  }
}

/** Rejects when a session takes too long to begin; when it has begun, it is closed. */
async function within(
  ms: number,
  clock: Clock,
  begun: Promise<Session>,
  onError: (error: unknown) => void,
): Promise<Session> {
  const late = Promise.withResolvers<never>();
  const cancelTimer = clock.after(ms, () => {
    const fault = new HoldfastError("internal", `A session could not be restored within ${ms} ms.`);
    onError(fault);
    late.reject(fault);
    begun.then((session) => session.close()).catch(() => undefined); // it is reported where it fails
  });
  return Promise.race([begun, late.promise]).finally(cancelTimer);
}

/**
 * Limits the sessions. When no slot is free, the principal with most sessions loses one to another principal, an idle one
 * first, so that no principal can keep the others out.
 */
class SessionSlots {
  readonly #settings: SessionsSetup;
  readonly #onEvicted: (id: string) => void;
  readonly #sessions = new PerPrincipal<string>();
  readonly #shares = new Map<string, Share>();
  /** Since when sessions are idle; the longest first. */
  readonly #idle = new Map<string, number>();

  /** `onEvicted` ends a session that has lost its slot. */
  constructor(settings: SessionsSetup, onEvicted: (id: string) => void) {
    this.#settings = settings;
    this.#onEvicted = onEvicted;
  }

  /** Acquires a slot for a session, if necessary that of another session; otherwise says which limit is reached. */
  acquire(id: string, share: Share): "acquired" | "server is full" | "principal is full" {
    const { maxSessions, maxSessionsPerPrincipal } = this.#settings;
    const own = this.#sessions.count(share);
    if (isPrincipal(share) && own >= maxSessionsPerPrincipal) {
      if (!this.#evict(this.#longestIdle((other) => other === share))) return "principal is full";
    } else if (this.#sessions.size >= maxSessions) {
      if (!this.#evict(this.#ofLargest(own) ?? this.#longestIdle(this.#hasAsMany(share)))) {
        return "server is full";
      }
    }
    this.#sessions.add(share, id);
    this.#shares.set(id, share);
    return "acquired";
  }

  /** Whether the session still has its slot. */
  has(id: string): boolean {
    return this.#shares.has(id);
  }

  /** The session has ended. */
  release(id: string): void {
    this.#idle.delete(id);
    const share = this.#shares.get(id);
    if (share === undefined) return;
    this.#shares.delete(id);
    this.#sessions.remove(share, id);
  }

  /** The session became idle, or is used again. */
  idle(id: string, idle: boolean): void {
    this.#idle.delete(id);
    if (idle && this.#shares.has(id)) this.#idle.set(id, this.#settings.clock.elapsed());
  }

  #evict(id: string | undefined): boolean {
    if (id === undefined) return false;
    this.release(id); // before it has ended, so that it is not evicted twice
    this.#onEvicted(id);
    return true;
  }

  /** A session of the principal with most, if that principal still has at least as many as the new one afterwards. */
  #ofLargest(own: number): string | undefined {
    const { largest } = this.#sessions;
    if (largest.size <= own + 1) return undefined;
    for (const id of this.#idle.keys()) if (largest.has(id)) return id;
    const [oldest] = largest;
    return oldest;
  }

  #hasAsMany(share: Share): (other: Share) => boolean {
    const own = this.#sessions.count(share);
    return (other) => other === share || this.#sessions.count(other) > own;
  }

  #longestIdle(isOf: (share: Share) => boolean): string | undefined {
    const { clock, unusedSessionMs } = this.#settings;
    for (const [id, since] of this.#idle) {
      if (clock.elapsed() - since < unusedSessionMs) return undefined;
      if (isOf(this.#shares.get(id) ?? null)) return id;
    }
    return undefined;
  }
}
