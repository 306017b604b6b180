import type { Clock } from "../../../runtime/clock.ts";
import type { TaskServer } from "../../task-server.ts";
import { responseOf, type Outgoing } from "../exchange.ts";
import type { UnreadBytes } from "../unread-bytes.ts";
import { BrokenRequests } from "./broken-requests.ts";
import type { EventLimits } from "./event-log.ts";
import { EventMemory } from "./event-memory.ts";
import type { EarlierRevisions, Incoming } from "./incoming.ts";
import { readHandshake } from "./read-post.ts";
import {
  internalError,
  methodNotAllowed,
  sessionMissing,
  sessionNotFound,
  tooManyOfOne,
  tooManySessions,
} from "./refusals.ts";
import { idToAnswer } from "./requests-in.ts";
import { SessionSlots } from "./session-slots.ts";
import { Session } from "./session.ts";

export interface SessionsSetup {
  readonly server: TaskServer;
  readonly clock: Clock;
  readonly unread: UnreadBytes;
  readonly sessionIdleMs: number;
  /** How long a session may be idle that was never used, or whose slot another session needs. */
  readonly unusedSessionMs: number;
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  /** How long a client whose connection broke may take to resume. */
  readonly resumeMs: number;
  readonly maxOpenRequestsPerSession: number;
  readonly maxOpenRequestsPerPrincipal: number;
  readonly limits?: EventLimits;
  /** For the messages that all sessions store to resume streams, in characters of JSON. */
  readonly memoryBytes?: number;
}

const methods: readonly string[] = ["GET", "POST", "DELETE"];

/** What a session stores to resume streams. */
const defaultLimits: EventLimits = { maxEvents: 1_000, maxBytes: 4 * 1024 * 1024 };
const allSessionsBytes = 256 * 1024 * 1024;

/** Earlier revisions with sessions: Streamable HTTP with a standalone stream for messages of the server. */
export class Sessions implements EarlierRevisions {
  readonly #setup: SessionsSetup;
  readonly #sessions = new Map<string, Session>();
  readonly #memory: EventMemory;
  readonly #broken: BrokenRequests;
  /** Of open sessions, and of those that are being opened. */
  readonly #slots: SessionSlots;
  #closed = false;

  constructor(setup: SessionsSetup) {
    this.#setup = setup;
    this.#memory = new EventMemory(setup.memoryBytes ?? allSessionsBytes);
    this.#broken = new BrokenRequests({ ...setup, maxPerPrincipal: setup.maxOpenRequestsPerPrincipal });
    const evict = (id: string): void => {
      this.#sessions.get(id)?.close().catch(setup.server.onError);
    };
    this.#slots = new SessionSlots({ ...setup, evict });
  }

  get size(): number {
    return this.#sessions.size;
  }

  get asking(): number {
    let sum = 0;
    for (const session of this.#sessions.values()) sum += session.asking;
    return sum;
  }

  /** The principal's session of this id; another principal's is not found. */
  find(id: string, principal: string | null): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.principal === principal ? session : undefined;
  }

  async fetch(incoming: Incoming): Promise<Outgoing> {
    const { request, body, owner } = incoming;
    if (!methods.includes(request.method)) return methodNotAllowed(methods.join(", "));
    const id = request.headers.get("mcp-session-id");
    if (id !== null) return this.find(id, owner.principal)?.fetch(incoming) ?? sessionNotFound();
    if (request.method !== "POST") return sessionMissing();
    const handshake = readHandshake(request, body);
    return handshake instanceof Response ? handshake : this.#open(incoming);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }

  async #open(incoming: Incoming): Promise<Response> {
    const { server, clock, unread, limits = defaultLimits } = this.#setup;
    const { sessionIdleMs: idleMs, unusedSessionMs: unusedMs } = this.#setup;
    const { maxOpenRequestsPerSession: maxOpenRequests } = this.#setup;
    const answersTo = idToAnswer(incoming.body);
    const id = clock.uniqueName();
    const slot = this.#slots.acquire(id, incoming.owner.principal);
    if (slot === "server is full") return tooManySessions(answersTo);
    if (slot === "principal is full") {
      return tooManyOfOne(incoming.body, this.#setup.maxSessionsPerPrincipal);
    }
    const onEnd = (): void => {
      this.#slots.release(id);
      this.#sessions.delete(id);
    };
    const onIdle = (idle: boolean): void => this.#slots.idle(id, idle);
    const kept = { memory: this.#memory, broken: this.#broken, unread };
    const setup = { server, clock, idleMs, unusedMs, limits, maxOpenRequests, ...kept, onIdle, onEnd };
    let session: Session;
    try {
      session = await Session.open(id, incoming, setup);
    } catch {
      onEnd();
      return internalError(answersTo); // it was reported where it failed
    }
    if (!this.#slots.has(id)) {
      await session.close();
      return tooManySessions(answersTo);
    }
    if (!this.#closed) this.#sessions.set(id, session);
    const response = responseOf(await session.fetch(incoming));
    // A refused handshake opens no session.
    if (!response.ok || this.#closed) await session.close();
    return response;
  }
}
