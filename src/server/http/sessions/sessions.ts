import type { Clock } from "../../../runtime/clock.ts";
import type { TaskServer } from "../../task-server.ts";
import { BrokenRequests } from "./broken-requests.ts";
import type { EventLimits } from "./event-log.ts";
import { EventMemory } from "./event-memory.ts";
import type { EarlierRevisions, Incoming } from "./incoming.ts";
import {
  internalError,
  methodNotAllowed,
  sessionMissing,
  sessionNotFound,
  tooManyOfOne,
  tooManySessions,
} from "./refusals.ts";
import { idToAnswer, initializes } from "./requests-in.ts";
import { SessionPlaces } from "./session-places.ts";
import { Session } from "./session.ts";

export interface SessionsSetup {
  readonly server: TaskServer;
  readonly clock: Clock;
  readonly sessionIdleMs: number;
  /** How long a session may keep its place for nothing: one that was never used, or any where there is no other. */
  readonly unusedSessionMs: number;
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  /** How long a client whose connection broke may take to come back for its answer. */
  readonly resumeMs: number;
  readonly maxOpenRequestsPerSession: number;
  readonly maxOpenRequestsPerPrincipal: number;
  readonly limits?: EventLimits;
  /** Of what all sessions keep for clients that come back, in characters of JSON. */
  readonly memoryBytes?: number;
}

const methods: readonly string[] = ["GET", "POST", "DELETE"];

/** What a session keeps for clients that come back. */
const defaultLimits: EventLimits = { maxEvents: 1_000, maxBytes: 4 * 1024 * 1024 };
const allSessionsBytes = 256 * 1024 * 1024;

/** Earlier revisions with sessions: Streamable HTTP with a stream of its own for what the server has to say. */
export class Sessions implements EarlierRevisions {
  readonly #setup: SessionsSetup;
  readonly #sessions = new Map<string, Session>();
  readonly #memory: EventMemory;
  readonly #broken: BrokenRequests;
  /** Those that are being opened have one too. */
  readonly #places: SessionPlaces;
  #closed = false;

  constructor(setup: SessionsSetup) {
    this.#setup = setup;
    this.#memory = new EventMemory(setup.memoryBytes ?? allSessionsBytes);
    this.#broken = new BrokenRequests({ ...setup, maxPerHolder: setup.maxOpenRequestsPerPrincipal });
    const evict = (id: string): void => {
      this.#sessions.get(id)?.close().catch(setup.server.onError);
    };
    this.#places = new SessionPlaces({ ...setup, evict });
  }

  get size(): number {
    return this.#sessions.size;
  }

  get asking(): number {
    let sum = 0;
    for (const session of this.#sessions.values()) sum += session.asking;
    return sum;
  }

  async fetch(incoming: Incoming): Promise<Response> {
    const { request, body, owner } = incoming;
    if (!methods.includes(request.method)) return methodNotAllowed(methods.join(", "));
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      return request.method === "POST" && initializes(body) ? this.#open(incoming) : sessionMissing();
    }
    const session = this.#sessions.get(id);
    // Whose it is makes no difference to see: nobody learns that somebody else's session exists.
    if (session === undefined || session.principal !== owner.principal) return sessionNotFound();
    return session.fetch(incoming);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }

  async #open(incoming: Incoming): Promise<Response> {
    const { server, clock, limits = defaultLimits } = this.#setup;
    const { sessionIdleMs: idleMs, unusedSessionMs: unusedMs } = this.#setup;
    const { maxOpenRequestsPerSession: maxOpenRequests } = this.#setup;
    const answersTo = idToAnswer(incoming.body);
    const id = clock.uniqueName();
    const place = this.#places.take(id, incoming.owner.principal);
    if (place === "server is full") return tooManySessions(answersTo);
    if (place === "principal has its share") {
      return tooManyOfOne(incoming.body, this.#setup.maxSessionsPerPrincipal);
    }
    const onEnd = (): void => {
      this.#places.give(id);
      this.#sessions.delete(id);
    };
    const onIdle = (idle: boolean): void => this.#places.idle(id, idle);
    const kept = { memory: this.#memory, broken: this.#broken };
    const setup = { server, clock, idleMs, unusedMs, limits, maxOpenRequests, ...kept, onIdle, onEnd };
    let session: Session;
    try {
      session = await Session.open(id, incoming, setup);
    } catch {
      onEnd();
      return internalError(answersTo); // whoever made the server has reported it
    }
    if (!this.#places.has(id)) {
      await session.close();
      return tooManySessions(answersTo);
    }
    if (!this.#closed) this.#sessions.set(id, session);
    const response = await session.fetch(incoming);
    // A handshake that was refused opens nothing.
    if (!response.ok || this.#closed) await session.close();
    return response;
  }
}
