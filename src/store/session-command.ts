import type { SessionEnd, SessionNews, SessionRoom, StoredSession } from "./session-store.ts";

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
