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

export type SessionEnd = Pick<StoredSession, "id" | "expiresAt">;

/** How many sessions are stored at most. Where a new one does not fit, those that end first make room. */
export interface SessionRoom {
  /** Of one principal; `null` has no such limit. */
  readonly ofPrincipal: number;
  /** In total; the principal with most of them makes room. */
  readonly total: number;
}

/** What whoever serves a session may have to know. */
export interface SessionNews {
  readonly id: string;
  /** What was told; null: the session was changed or deleted, so read it again. */
  readonly message: string | null;
}

/** Told of news; after a gap some may have been missed, so that whoever serves a session reads it again. */
export type SessionListener = (news: readonly SessionNews[] | "gap") => void;

/**
 * An optional part of a store: sessions of HTTP clients, so that they survive a restart, and are the same in all processes. As in the
 * rest of the store, a write resolves after its commit, and a failed one rejects with a `HoldfastError` and has changed nothing.
 */
export interface SessionStore {
  get(id: string): Promise<StoredSession | undefined>;
  /** Stores a new session. */
  put(session: StoredSession, room: SessionRoom): Promise<void>;
  /** Replaces the state of a session; resolves with false, and does nothing, where it is not `before` any more. */
  update(id: string, state: string, before: string): Promise<boolean>;
  /** Sessions end at these times, unless they end later already; leaves out those that are gone. */
  extend(ends: readonly SessionEnd[]): Promise<void>;
  delete(ids: readonly string[]): Promise<void>;
  /** Deletes sessions, but for those that end later than at these times. */
  deleteUnextended(ends: readonly SessionEnd[]): Promise<void>;
  /** Deletes up to `limit` sessions that have ended at `now`; resolves with their number. */
  deleteExpired(now: number, limit: number): Promise<number>;
  /**
   * The ids of tasks that came from a session, by `session` and `requestId` of their origins: newest first, at most `limit`.
   * Without `requestId`: those of all its requests that have not finished, in any order.
   */
  tasksOf(id: string, limit: number, requestId?: string | number): Promise<readonly string[]>;
  /** Tells every listener, in whichever process it is now, a message about a session. It is not kept for later ones. */
  tell(id: string, message: string): Promise<void>;
  /**
   * Calls `listener` after each `update`, `delete` and `tell`, and after a `put` for the sessions that made room. Returns a function that
   * ends the subscription.
   */
  subscribe(listener: SessionListener): () => void;
}
