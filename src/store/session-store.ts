/** What is stored of one session of an HTTP client. */
export interface StoredSession {
  /** The hash of the session's id, which only its client knows. */
  readonly id: string;
  readonly principal: string | null;
  /** When it ends unless it is extended, in epoch milliseconds. */
  readonly expiresAt: number;
  /** What is needed to go on with it in another process, as JSON text. */
  readonly state: string;
}

/** How many sessions are stored at most. Where a new one does not fit, those that end first make room. */
export interface SessionRoom {
  /** Of one principal; `null` has no such limit. */
  readonly ofPrincipal: number;
  /** In total; the principal with most of them makes room. */
  readonly total: number;
}

/**
 * An optional part of a store: sessions of HTTP clients, so that they survive a restart. As in the rest of the store, a write
 * resolves after its commit, and a failed one rejects with a `HoldfastError` and has changed nothing.
 */
export interface SessionStore {
  get(id: string): Promise<StoredSession | undefined>;
  /** Stores a new session. */
  put(session: StoredSession, room: SessionRoom): Promise<void>;
  /** Replaces the state of a session; does nothing where there is none of this id. */
  update(id: string, state: string): Promise<void>;
  /** Changes when sessions end; leaves out those that are gone. */
  extend(ends: readonly Pick<StoredSession, "id" | "expiresAt">[]): Promise<void>;
  delete(ids: readonly string[]): Promise<void>;
  /** Deletes up to `limit` sessions that have ended at `now`; resolves with their number. */
  deleteExpired(now: number, limit: number): Promise<number>;
  /**
   * The ids of tasks that came from a session, by `session` and `requestId` of their origins: newest first, at most `limit`.
   * Without `requestId`: those of all its requests that have not finished, in any order.
   */
  tasksOf(id: string, limit: number, requestId?: string | number): Promise<readonly string[]>;
}
