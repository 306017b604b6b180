import type { Clock } from "../../../runtime/clock.ts";
import type { TaskServer } from "../../task-server.ts";
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
  readonly maxSessions: number;
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
  readonly #memory: EventMemory = { maxBytes: allSessionsBytes, bytes: 0 };
  /** Those that are being opened count too. */
  #places = 0;
  #closed = false;

  constructor(setup: SessionsSetup) {
    this.#setup = setup;
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
    const { server, clock, sessionIdleMs: idleMs, maxSessions, limits = defaultLimits } = this.#setup;
    const answersTo = idToAnswer(incoming.body);
    if (this.#places >= maxSessions) return tooManySessions(answersTo);
    this.#places += 1;
    const id = clock.uniqueName();
    let ended = false;
    const onEnd = (): void => {
      if (ended) return;
      ended = true;
      this.#places -= 1;
      this.#sessions.delete(id);
    };
    const setup = { server, clock, idleMs, limits, memory: this.#memory, onEnd };
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
}
