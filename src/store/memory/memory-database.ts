import type { StoreOwner } from "../../task/queue.ts";
import type { ChangeFeed } from "../change-feed.ts";
import type { SessionStore } from "../session-store.ts";
import type { StoreChanges } from "../store.ts";
import { MemorySessions, SessionTables } from "./memory-sessions.ts";
import { MemoryTables } from "./memory-tables.ts";

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
