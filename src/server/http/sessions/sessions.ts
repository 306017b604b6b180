import type { Clock } from "../../../runtime/clock.ts";
import type { TaskServer } from "../../task-server.ts";
import { BrokenRequests } from "./broken-requests.ts";
import type { EventLimits, EventMemory } from "./event-log.ts";
import type { EarlierRevisions, Incoming } from "./incoming.ts";
import {
  internalError,
  methodNotAllowed,
  sessionMissing,
  sessionNotFound,
  tooManySessions,
} from "./refusals.ts";
import { idToAnswer, initializes } from "./requests-in.ts";
import { Session } from "./session.ts";

export interface SessionsSetup {
  readonly server: TaskServer;
  readonly clock: Clock;
  readonly sessionIdleMs: number;
  /** How long a session may keep its place for nothing: one that was never used, or any where there is no other. */
  readonly unusedSessionMs: number;
  readonly maxSessions: number;
  /** How long a client whose connection broke may take to come back for its answer. */
  readonly resumeMs: number;
  readonly maxOpenRequestsPerSession: number;
  readonly limits?: EventLimits;
}

const methods: readonly string[] = ["GET", "POST", "DELETE"];

/** What a session keeps for clients that come back. */
const defaultLimits: EventLimits = { maxEvents: 1_000, maxBytes: 4 * 1024 * 1024 };
const allSessionsBytes = 256 * 1024 * 1024;

/** Earlier revisions with sessions: Streamable HTTP with a stream of its own for what the server has to say. */
export class Sessions implements EarlierRevisions {
  readonly #setup: SessionsSetup;
  readonly #sessions = new Map<string, Session>();
  /** Since when nothing of them is open; the longest first. */
  readonly #idle = new Map<string, number>();
  readonly #memory: EventMemory = { maxBytes: allSessionsBytes, bytes: 0 };
  readonly #broken: BrokenRequests;
  /** Those that are being opened count too. */
  #places = 0;
  #closed = false;

  constructor(setup: SessionsSetup) {
    this.#setup = setup;
    this.#broken = new BrokenRequests(setup);
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
    const { server, clock, maxSessions, limits = defaultLimits } = this.#setup;
    const { sessionIdleMs: idleMs, unusedSessionMs: unusedMs } = this.#setup;
    const { maxOpenRequestsPerSession: maxOpenRequests } = this.#setup;
    const answersTo = idToAnswer(incoming.body);
    if (this.#places >= maxSessions) await this.#makeRoom();
    if (this.#places >= maxSessions) return tooManySessions(answersTo);
    this.#places += 1;
    const id = clock.uniqueName();
    let ended = false;
    const onEnd = (): void => {
      if (ended) return;
      ended = true;
      this.#places -= 1;
      this.#sessions.delete(id);
      this.#idle.delete(id);
    };
    const onIdle = (idle: boolean): void => {
      this.#idle.delete(id);
      if (idle) this.#idle.set(id, clock.now());
    };
    const kept = { memory: this.#memory, broken: this.#broken };
    const setup = { server, clock, idleMs, unusedMs, limits, maxOpenRequests, ...kept, onIdle, onEnd };
    let session: Session;
    try {
      session = await Session.open(id, incoming, setup);
    } catch {
      onEnd();
      return internalError(answersTo); // whoever made the server has reported it
    }
    if (!this.#closed) this.#sessions.set(id, session);
    const response = await session.fetch(incoming);
    // A handshake that was refused opens nothing.
    if (!response.ok || this.#closed) await session.close();
    return response;
  }

  /** Ends the session that has done nothing for longest: its client gets 404, and opens another. */
  async #makeRoom(): Promise<void> {
    const [longest] = this.#idle;
    if (longest === undefined) return;
    const [id, since] = longest;
    const { clock, unusedSessionMs } = this.#setup;
    if (clock.now() - since < unusedSessionMs) return;
    this.#idle.delete(id); // the next one who wants a place takes another's
    await this.#sessions.get(id)?.close();
  }
}
