import { storable } from "../../task/time.ts";
import type { SessionRoom, SessionStore, StoredSession } from "../session-store.ts";

/** Sessions as long as the process lives: for handlers that are closed and made anew on the same store. */
export class MemorySessions implements SessionStore {
  readonly #assertOpen: () => void;
  /** What the store knows of its tasks. */
  readonly #tasksOf: (...args: Parameters<SessionStore["tasksOf"]>) => readonly string[];
  readonly #sessions = new Map<string, StoredSession>();

  constructor(
    assertOpen: () => void,
    tasksOf: (...args: Parameters<SessionStore["tasksOf"]>) => readonly string[],
  ) {
    this.#assertOpen = assertOpen;
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
    if (principal !== null) this.#makeRoom(this.#of(principal), room.ofPrincipal);
    while (this.#sessions.size > 0 && this.#sessions.size >= room.total) {
      const largest = this.#largest();
      this.#makeRoom(largest, largest.length);
    }
    this.#sessions.set(id, { ...session, expiresAt: storable(session.expiresAt) });
  }

  async update(id: string, state: string): Promise<void> {
    await this.#commit();
    const session = this.#sessions.get(id);
    if (session !== undefined) this.#sessions.set(id, { ...session, state });
  }

  async extend(ends: readonly Pick<StoredSession, "id" | "expiresAt">[]): Promise<void> {
    await this.#commit();
    for (const { id, expiresAt } of ends) {
      const session = this.#sessions.get(id);
      if (session !== undefined) this.#sessions.set(id, { ...session, expiresAt: storable(expiresAt) });
    }
  }

  async delete(ids: readonly string[]): Promise<void> {
    await this.#commit();
    for (const id of ids) this.#sessions.delete(id);
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

  /** As with any other store, the commit comes after the call, never inside it. */
  async #commit(): Promise<void> {
    this.#assertOpen();
    await Promise.resolve();
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

  /** Deletes those that end first, until another one fits. */
  #makeRoom(sessions: readonly StoredSession[], most: number): void {
    const first = sessions.toSorted((a, b) => a.expiresAt - b.expiresAt);
    for (const { id } of first.slice(0, Math.max(0, first.length - most + 1))) this.#sessions.delete(id);
  }
}
