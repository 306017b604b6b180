import type { StoreOwner } from "../../task/queue.ts";
import { ChangeFeed } from "../change-feed.ts";
import type {
  SessionStore,
  SessionEnd,
  SessionListener,
  SessionNews,
  SessionRoom,
  StoredSession,
} from "../session-store.ts";
import type { StoreChanges } from "../store.ts";
import { MemoryTables } from "./memory-tables.ts";
import { storable } from "../../task/time.ts";

/**
 * A database that several memory stores of a process share. Each store is an owner, like a process that opens a file. For tests with
 * several owners.
 */
export function memoryDatabase(): MemoryDatabase {
  return new MemoryDatabase();
}

export class MemoryDatabase {
  readonly tables = new MemoryTables();
  readonly #sessions = new SessionTables();
  readonly #feeds = new Map<string, ChangeFeed>();

  sessionsFor(assertOpen: () => void, commit: () => Promise<void>): SessionStore {
    return new MemorySessions(this.#sessions, assertOpen, commit, (...query) =>
      this.tables.ofSessions.of(...query),
    );
  }

  join(owner: StoreOwner, feed: ChangeFeed): void {
    this.tables.owners.add(owner);
    this.#feeds.set(owner.id, feed);
    this.publish("gap", owner.id);
  }

  leave(owner: string): void {
    this.tables.owners.end(owner);
    this.#forgetFeed(owner);
  }

  #forgetFeed(owner: string): void {
    this.#feeds.delete(owner);
    this.publish("gap", owner);
  }

  publish(changes: StoreChanges, by: string): void {
    for (const [owner, feed] of Array.from(this.#feeds))
      feed.publish(changes, owner === by ? "self" : "others");
  }

  /** Treats an owner as dead, as if its process had ended without closing the store. */
  kill(owner: string): void {
    this.tables.owners.kill(owner);
    this.#forgetFeed(owner);
  }
}

/** The sessions of all owners, and their listeners. */
export class SessionTables {
  readonly sessions = new Map<string, StoredSession>();
  readonly feed = new ChangeFeed<SessionNews>();
}

/** Sessions that live as long as the process: for handlers that are closed and recreated on the same store. */
export class MemorySessions implements SessionStore {
  readonly #assertOpen: () => void;
  /** Resolves when a write may be applied; rejects once writes are impossible. */
  readonly #commit: () => Promise<void>;
  /** The store's lookup of a session's tasks. */
  readonly #tasksOf: (...args: Parameters<SessionStore["tasksOf"]>) => readonly string[];
  readonly #sessions: Map<string, StoredSession>;
  readonly #feed: ChangeFeed<SessionNews>;

  constructor(
    { sessions, feed }: SessionTables,
    assertOpen: () => void,
    commit: () => Promise<void>,
    tasksOf: (...args: Parameters<SessionStore["tasksOf"]>) => readonly string[],
  ) {
    this.#sessions = sessions;
    this.#feed = feed;
    this.#assertOpen = assertOpen;
    this.#commit = commit;
    this.#tasksOf = tasksOf;
  }

  async get(id: string): Promise<StoredSession | undefined> {
    this.#assertOpen();
    return this.#sessions.get(id);
  }

  async put(session: StoredSession, room: SessionRoom): Promise<void> {
    await this.#commit();
    const { id, principal } = session;
    this.#sessions.delete(id);
    const deleted = principal === null ? [] : this.#makeRoom(this.#of(principal), room.ofPrincipal);
    while (this.#sessions.size > 0 && this.#sessions.size >= room.total) {
      const largest = this.#largest();
      deleted.push(...this.#makeRoom(largest, largest.length));
    }
    this.#sessions.set(id, { ...session, expiresAt: storable(session.expiresAt) });
    this.#changed(deleted);
  }

  async update(id: string, state: string, before: string): Promise<boolean> {
    await this.#commit();
    const session = this.#sessions.get(id);
    if (session?.state !== before) return false;
    this.#sessions.set(id, { ...session, state });
    this.#changed([id]);
    return true;
  }

  async extend(ends: readonly SessionEnd[]): Promise<void> {
    await this.#commit();
    for (const { id, expiresAt } of ends) {
      const session = this.#sessions.get(id);
      if (session === undefined) continue;
      this.#sessions.set(id, { ...session, expiresAt: Math.max(session.expiresAt, storable(expiresAt)) });
    }
  }

  async delete(ids: readonly string[]): Promise<void> {
    await this.#commit();
    this.#changed(ids.filter((id) => this.#sessions.delete(id)));
  }

  async deleteUnextended(ends: readonly SessionEnd[]): Promise<void> {
    await this.#commit();
    const ended = ends.filter(({ id, expiresAt }) => {
      const session = this.#sessions.get(id);
      return session !== undefined && session.expiresAt <= storable(expiresAt);
    });
    this.#changed(ended.flatMap(({ id }) => (this.#sessions.delete(id) ? [id] : [])));
  }

  async deleteExpired(now: number, limit: number): Promise<number> {
    await this.#commit();
    const expired = [...this.#sessions.values()].filter(({ expiresAt }) => expiresAt <= now).slice(0, limit);
    for (const { id } of expired) this.#sessions.delete(id);
    return expired.length;
  }

  async tasksOf(id: string, limit: number, requestId?: string | number): Promise<readonly string[]> {
    this.#assertOpen();
    return this.#tasksOf(id, limit, requestId);
  }

  async send(id: string, message: string): Promise<void> {
    await this.#commit();
    this.#feed.publish([{ id, message }], "self");
  }

  subscribe(listener: SessionListener): () => void {
    return this.#feed.subscribe(listener);
  }

  #changed(ids: readonly string[]): void {
    this.#feed.publish(
      ids.map((id) => ({ id, message: null })),
      "self",
    );
  }

  #of(principal: string | null): StoredSession[] {
    return [...this.#sessions.values()].filter((session) => session.principal === principal);
  }

  #largest(): StoredSession[] {
    const counts = new Map<string | null, number>();
    for (const { principal } of this.#sessions.values())
      counts.set(principal, (counts.get(principal) ?? 0) + 1);
    const [largest = null] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [];
    return this.#of(largest);
  }

  /** Deletes the sessions that end first until another one fits; returns their ids. */
  #makeRoom(sessions: readonly StoredSession[], most: number): string[] {
    const first = sessions.toSorted((a, b) => a.expiresAt - b.expiresAt);
    const deleted = first.slice(0, Math.max(0, first.length - most + 1)).map(({ id }) => id);
    for (const id of deleted) this.#sessions.delete(id);
    return deleted;
  }
}
