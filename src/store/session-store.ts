/** The writes of a `SessionStore`, as plain data. */
export type SessionCommand =
  | { readonly type: "put_session"; readonly session: StoredSession; readonly room: SessionRoom }
  | { readonly type: "update_session"; readonly id: string; readonly state: string; readonly before: string }
  | { readonly type: "extend_sessions"; readonly ends: readonly SessionEnd[] }
  | { readonly type: "delete_sessions"; readonly ids: readonly string[] }
  | { readonly type: "delete_unextended_sessions"; readonly ends: readonly SessionEnd[] }
  | { readonly type: "delete_expired_sessions"; readonly now: number; readonly limit: number }
  | { readonly type: "send_to_session"; readonly id: string; readonly message: string };

/** The result of such a write. */
export interface SessionResult {
  readonly ok: true;
  /** How many sessions it changed or deleted. */
  readonly count: number;
  /** For listeners, after the commit. */
  readonly news: readonly SessionNews[];
}

/** A message for the client of a task. It waits until the client asks for it. */
export interface NewMessage {
  readonly body: string;
  /** True if only the process that puts the message can use it. */
  readonly bound: boolean;
}

/** The result of putting a message. `unknown`: no such task; `full`: its queue is full. */
export type PutMessageResult =
  { readonly ok: true } | { readonly ok: false; readonly reason: "unknown" | "full" };

/**
 * An optional part of a store: a queue of messages for each task, which servers on SDK v1 need. A queue is deleted with its task; messages
 * do not change the task. No other process takes a message that is bound to one, and the store drops it when that process is gone. As in
 * the rest of the store, a write resolves after its commit, and a failed one rejects with a `HoldfastError` and has changed nothing.
 */
export interface MessageQueues {
  /** Puts a message at the end of a task's queue, whatever the task's state. `maxMessages` null: no limit. */
  put(taskId: string, message: NewMessage, maxMessages: number | null): Promise<PutMessageResult>;
  /** Removes and returns the bodies of up to `limit` messages (null: all) from a task's queue, first ones first. */
  take(taskId: string, limit: number | null): Promise<readonly string[]>;
}

/** The writes of `MessageQueues`, as plain data. */
export type MessageCommand =
  | {
      readonly type: "put_message";
      readonly taskId: string;
      readonly message: NewMessage;
      readonly maxMessages: number | null;
    }
  | { readonly type: "take_messages"; readonly taskId: string; readonly limit: number | null };

/** The result of such a write. */
export interface MessageResult {
  readonly put: PutMessageResult;
  /** The bodies of the taken messages. */
  readonly taken: readonly string[];
}

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
