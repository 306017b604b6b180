import { columnsOf, text, textOrNull, time, type Row } from "./row.ts";
import type { StoredSession } from "./session-store.ts";

const at = columnsOf(["id", "principal", "expires_at", "state"]);

/** The session of a row with these columns. Throws if it is damaged. */
export function sessionOf(row: Row): StoredSession {
  return {
    id: text(row, at.id),
    principal: textOrNull(row, at.principal),
    expiresAt: time(row, at.expires_at),
    state: text(row, at.state),
  };
}
