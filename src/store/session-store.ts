/** The stored data of one session of an HTTP client. */
export interface StoredSession {
  /** The hash of the session's id. Only its client knows the id. */
  readonly id: string;
  readonly principal: string | null;
  /** When it ends unless it is extended, in epoch milliseconds. */
  readonly expiresAt: number;
  /** What another process needs to continue the session, as JSON text. */
  readonly state: string;
}

/** When a stored session ends. */
export type SessionEnd = Pick<StoredSession, "id" | "expiresAt">;

/** The maximum number of stored sessions. If a new one does not fit, those that end first make room. */
export interface SessionRoom {
  /** Per principal; no limit for `null`. */
  readonly ofPrincipal: number;
  /** In total; the principal with most sessions makes room. */
  readonly total: number;
}

/** News for the process that serves a session. */
export interface SessionNews {
  readonly id: string;
  /** The message from `send`; null: the session was changed or deleted, so read it again. */
  readonly message: string | null;
}

/** Receives news. After a gap some may have been missed, so processes read their sessions again. */
export type SessionListener = (news: readonly SessionNews[] | "gap") => void;

/**
 * An optional part of a store: sessions of HTTP clients, so that they survive a restart, and are the same in all processes. As in the rest
 * of the store, a write resolves after its commit, and a failed one rejects with a `HoldfastError` and has changed nothing.
 */
export interface SessionStore {
  get(id: string): Promise<StoredSession | undefined>;
  /** Stores a new session. */
  put(session: StoredSession, room: SessionRoom): Promise<void>;
  /** Replaces the state of a session. If the state is no longer `before`, does nothing and resolves with false. */
  update(id: string, state: string, before: string): Promise<boolean>;
  /** Moves the ends of sessions to these times, unless they end later already. Ignores sessions that are gone. */
  extend(ends: readonly SessionEnd[]): Promise<void>;
  delete(ids: readonly string[]): Promise<void>;
  /** Deletes sessions, except those that end later than these times. */
  deleteUnextended(ends: readonly SessionEnd[]): Promise<void>;
  /** Deletes up to `limit` sessions that have ended at `now`. Resolves with their number. */
  deleteExpired(now: number, limit: number): Promise<number>;
  /**
   * The ids of tasks that came from a session, by `session` and `requestId` of their origins: newest first, at most `limit`. Without
   * `requestId`: unfinished tasks of all its requests, in any order.
   */
  tasksOf(id: string, limit: number, requestId?: string | number): Promise<readonly string[]>;
  /** Sends a message about a session to every listener, in all processes. It is not stored for later ones. */
  send(id: string, message: string): Promise<void>;
  /**
   * Calls `listener` after each `update`, `delete` and `send`, and after a `put` for the sessions that made room. Returns a function that
   * ends the subscription.
   */
  subscribe(listener: SessionListener): () => void;
}
