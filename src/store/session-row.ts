import { unlessUndecrypted, type Codec, type Place } from "./codec.ts";
import { columnsOf, text, textOrNull, time, type Row } from "./row.ts";
import type { SessionNews, StoredSession } from "./session-store.ts";

const at = columnsOf(["id", "principal", "expires_at", "state"]);

/** A session of another principal is not this one. */
export function statePlace({ id, principal }: Pick<StoredSession, "id" | "principal">): Place {
  return { table: "session", column: "state", of: id, key: principal };
}

/** Where a message about a session is, for the other processes. */
export function newsPlace(session: string): Place {
  return { table: "session", column: "message", of: session };
}

/** The session of a row with these columns. Throws if it is damaged. */
export function sessionOf(row: Row, codec: Codec): StoredSession {
  const session = { id: text(row, at.id), principal: textOrNull(row, at.principal) };
  return {
    ...session,
    expiresAt: time(row, at.expires_at),
    state: codec.open(text(row, at.state), statePlace(session)),
  };
}

/** What the database itself has as its state. */
export function storedState(row: Row): string {
  return String(row[at.state.place]);
}

/** News from another process. If it cannot be decrypted, whoever serves the session reads it again. */
export function openedNews({ id, message }: SessionNews, codec: Codec): SessionNews {
  const opened = message === null ? null : unlessUndecrypted(() => codec.open(message, newsPlace(id)));
  return { id, message: opened ?? null };
}
