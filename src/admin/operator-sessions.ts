import { createHash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
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
  let last = 0;
  return {
    async add(entry, detail) {
      last += 1;
      kept.unshift({ ...entry, seq: last, at: now(), detail: JSON.stringify(detail) });
      kept.length = Math.min(kept.length, mostInMemory);
    },
    entries: async (before, limit) =>
      kept.filter(({ seq }) => before === null || seq < before).slice(0, limit),
  };
}

const mostInMemory = 10_000;

/** The longest that a session lasts. */
export const longestSessionMs = 7 * 86_400_000;

/** Mostly there is little that is new. */
const page = { first: 100, later: 1_000 };

/** How often it is looked whether a known session was ended elsewhere, and for one that is not known. */
const lookEveryMs = { known: 1_000, unknown: 100 };

/** An entry can be committed after one with a higher number, but not by more than this. */
const lateMs = 60_000;

export class OperatorSessions {
  readonly #ledger: SessionLedger;
  readonly #clock: Pick<Clock, "now" | "elapsed">;
  readonly #sessions = new Map<string, OperatorSession>();
  /** When sessions were ended, by their ids: an entry is read again and again, and no login after its logout begins a session anew. */
  readonly #ended = new Map<string, number>();
  #lastSeq = 0;
  #newestAt = -Infinity;
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(ledger: SessionLedger, clock: Pick<Clock, "now" | "elapsed">) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /** Begins a session, and resolves with the secret that stands for it, which is not kept. */
  async begin(actor: string, role: OperatorRole, lastsMs: number): Promise<string> {
    const secret = randomBytes(32).toString("base64url");
    const [id, since] = [idOf(secret), this.#clock.now()];
    const until = since + lastsMs;
    await this.#ledger.add({ actor, action: "login" }, { session: id, role, until });
    this.#sessions.set(id, { id, actor, role, since, until });
    return secret;
  }

  /** The session of a secret; undefined if it was ended, or its time is over. */
  async find(secret: string): Promise<OperatorSession | undefined> {
    const id = idOf(secret);
    if (!this.#sessions.has(id)) await this.#lookAnew();
    // A store that is away keeps nobody out who is in: the page says what is wrong.
    else if (this.#sinceLookMs >= lookEveryMs.known) await this.#look().catch(() => undefined);
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
    this.#end(id, this.#clock.now());
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

  #end(id: string, at: number): void {
    this.#sessions.delete(id);
    this.#ended.set(id, at);
  }

  get #sinceLookMs(): number {
    return this.#clock.elapsed() - this.#lookedAt;
  }

  /** Looks from now on, for a session that may have begun a moment ago. All who ask meanwhile share one look, so that strangers cost little. */
  #lookAnew(): Promise<void> {
    const look = async (): Promise<void> => {
      await pause(Math.max(0, Math.min(lookEveryMs.unknown, lookEveryMs.unknown - this.#sinceLookMs)));
      while (this.#looking !== undefined) await this.#looking.catch(() => undefined);
      this.#next = undefined;
      await this.#look();
    };
    this.#next ??= look();
    return this.#next;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#read().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** Takes in what has happened since the last look, and what was late then. */
  async #read(): Promise<void> {
    this.#lookedAt = this.#clock.elapsed();
    const oldest = this.#clock.now() - longestSessionMs;
    // Once nothing can be late any more, only what is new is read.
    const isQuiet = this.#clock.now() - this.#newestAt > lateMs;
    const from = isQuiet ? Infinity : Math.max(oldest, this.#newestAt - lateMs);
    const news: SessionEntry[] = [];
    for (let before: number | null = null; ;) {
      const limit: number = before === null ? page.first : page.later;
      const read = await this.#ledger.entries(before, limit);
      const fresh = read.filter(({ seq, at }) => at >= from || (seq > this.#lastSeq && at >= oldest));
      news.push(...fresh);
      if (read.length < limit || fresh.length === 0) break;
      before = read.at(-1)?.seq ?? null;
    }
    for (const entry of news.toReversed()) this.#take(entry);
    for (const [id, at] of this.#ended) if (at < oldest) this.#ended.delete(id);
  }

  #take({ seq, at, actor, action, detail }: SessionEntry): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq);
    this.#newestAt = Math.max(this.#newestAt, at);
    if (action !== "login" && action !== "logout") return;
    const { session: id, role, until } = JSON.parse(detail ?? "{}") as Readonly<Record<string, unknown>>;
    if (typeof id !== "string") return;
    if (action === "logout") this.#end(id, at);
    else if (isRole(role) && typeof until === "number" && !this.#ended.has(id))
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
