import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../runtime/clock.ts";
import type { TaskStore } from "../store/store.ts";
import type { OperatorSession } from "./incident-operations.ts";
import { adminOf } from "./admin-store-of.ts";
import { isRole, type OperatorRole } from "./roles.ts";

// Sessions of operators are kept where what operators do is recorded: a login and a logout are actions, with who, when and until when. So
// each is audited, every process on the store knows it, and it ends everywhere.

/** What happens to sessions, in the order in which it did. */
interface SessionEntry {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** JSON. */
  readonly detail: string | null;
}

/** Where they are kept. */
interface SessionLedger {
  add(
    entry: Pick<SessionEntry, "actor" | "action">,
    detail: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /** The newest first, those below `before`. */
  entries(before: number | null, limit: number): Promise<readonly SessionEntry[]>;
}

export function ledgerIn(store: TaskStore, now: () => number): SessionLedger {
  return {
    async add({ actor, action }, detail) {
      await store.write({ type: "record_action", now: now(), by: { actor, action, detail } });
    },
    entries: (before, limit) => adminOf(store).actions(null, before, limit),
  };
}

/** For a dashboard that only reaches a store through an endpoint. */
export function ledgerInMemory(now: () => number): SessionLedger {
  const kept: SessionEntry[] = [];
  return {
    async add(entry, detail) {
      kept.unshift({ ...entry, seq: kept.length + 1, at: now(), detail: JSON.stringify(detail) });
      kept.length = Math.min(kept.length, mostInMemory);
    },
    entries: async (before, limit) =>
      kept.filter(({ seq }) => before === null || seq < before).slice(0, limit),
  };
}

const mostInMemory = 10_000;

/** The longest that a session lasts. */
export const longestSessionMs = 7 * 86_400_000;

const page = 1_000;

/** How often it is looked whether a known session was ended elsewhere, and for one that is not known. */
const lookEveryMs = { known: 1_000, unknown: 100 };

export class OperatorSessions {
  readonly #ledger: SessionLedger;
  readonly #clock: Pick<Clock, "now" | "elapsed">;
  readonly #sessions = new Map<string, OperatorSession>();
  #lastSeq = 0;
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;

  constructor(ledger: SessionLedger, clock: Pick<Clock, "now" | "elapsed">) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /** Begins a session, and resolves with the secret that stands for it, which is not kept. */
  async begin(actor: string, role: OperatorRole, lastsMs: number): Promise<string> {
    const secret = randomBytes(32).toString("base64url");
    const until = this.#clock.now() + lastsMs;
    await this.#ledger.add({ actor, action: "login" }, { session: idOf(secret), role, until });
    return secret;
  }

  /** The session of a secret; undefined if it was ended, or its time is over. */
  async find(secret: string): Promise<OperatorSession | undefined> {
    const id = idOf(secret);
    const isKnown = this.#sessions.has(id);
    const sinceMs = this.#clock.elapsed() - this.#lookedAt;
    if (sinceMs >= (isKnown ? lookEveryMs.known : lookEveryMs.unknown)) {
      // A store that is away keeps nobody out who is in: the page says what is wrong.
      await this.#look().catch((error: unknown) => {
        if (!isKnown) throw error;
      });
    }
    return this.#living(id);
  }

  /** Those that have not ended, newest first. */
  async list(): Promise<readonly OperatorSession[]> {
    await this.#look();
    const living = [...this.#sessions.keys()]
      .map((id) => this.#living(id))
      .filter((each) => each !== undefined);
    return living.toSorted((a, b) => b.since - a.since);
  }

  /** Ends a session, by its id. One that has ended stays so. */
  async end(id: string, actor: string): Promise<void> {
    await this.#look();
    if (this.#living(id) === undefined) return;
    await this.#ledger.add({ actor, action: "logout" }, { session: id });
    this.#sessions.delete(id);
  }

  /** Ends the session of a secret, as its operator does. */
  async leave(secret: string): Promise<void> {
    const session = await this.find(secret);
    if (session !== undefined) await this.end(session.id, session.actor);
  }

  #living(id: string): OperatorSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.until > this.#clock.now()) return session;
    this.#sessions.delete(id);
    return undefined;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#read().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** Takes in what has happened since the last look. */
  async #read(): Promise<void> {
    const oldest = this.#clock.now() - longestSessionMs;
    const news: SessionEntry[] = [];
    for (let before: number | null = null; ;) {
      const read: readonly SessionEntry[] = await this.#ledger.entries(before, page);
      const fresh = read.filter(({ seq, at }) => seq > this.#lastSeq && at >= oldest);
      news.push(...fresh);
      if (fresh.length < page) break;
      before = fresh.at(-1)?.seq ?? null;
    }
    for (const entry of news.toReversed()) this.#take(entry);
    this.#lastSeq = news[0]?.seq ?? this.#lastSeq;
    this.#lookedAt = this.#clock.elapsed();
  }

  #take({ at, actor, action, detail }: SessionEntry): void {
    if (action !== "login" && action !== "logout") return;
    const { session: id, role, until } = JSON.parse(detail ?? "{}") as Readonly<Record<string, unknown>>;
    if (typeof id !== "string") return;
    if (action === "logout") this.#sessions.delete(id);
    else if (isRole(role) && typeof until === "number")
      this.#sessions.set(id, { id, actor, role, since: at, until });
  }
}

/** What is kept of a secret. Hexadecimal, so that no id looks like an option of the command line. */
function idOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 32);
}

const ofAdmins = new WeakMap<object, OperatorSessions>();

/** Remembers the sessions of the store that an `Admin` is of. */
export function keepSessions(admin: object, sessions: OperatorSessions): void {
  ofAdmins.set(admin, sessions);
}

export function sessionsOf(admin: object): OperatorSessions | undefined {
  return ofAdmins.get(admin);
}
