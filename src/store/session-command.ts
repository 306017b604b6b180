import type { SessionRoom, StoredSession } from "./session-store.ts";

/** The writes of a `SessionStore`, as plain data. */
export type SessionCommand =
  | { readonly type: "put_session"; readonly session: StoredSession; readonly room: SessionRoom }
  | { readonly type: "update_session"; readonly id: string; readonly state: string }
  | { readonly type: "extend_sessions"; readonly ends: readonly Pick<StoredSession, "id" | "expiresAt">[] }
  | { readonly type: "delete_sessions"; readonly ids: readonly string[] }
  | { readonly type: "delete_expired_sessions"; readonly now: number; readonly limit: number };

/** What one of them did. */
export interface SessionResult {
  readonly ok: true;
  /** How many sessions it deleted. */
  readonly deleted: number;
}
