import type { SessionNews, SessionStore, StoredSession } from "../session-store.ts";
import { Unopened } from "../../task/unopened.ts";
import type { Encryption } from "./encryption.ts";

/** What a session is has no text that is not needed to find it, but for its state and what is told of it. */
export function encryptedSessions(
  inner: SessionStore,
  { sealing, opening }: Pick<Encryption, "sealing" | "opening">,
): Required<SessionStore> {
  /** A session that cannot be decrypted is as good as none: its client begins another one. */
  const openedSession = (session: StoredSession | undefined): StoredSession | undefined => {
    const state = session && unlessUnopened(() => opening.body(session.state));
    return session && state !== undefined ? { ...session, state } : undefined;
  };
  /** Whoever serves the session reads it again instead of what cannot be decrypted. */
  const openedNews = ({ id, message }: SessionNews): SessionNews => ({
    id,
    message: message === null ? null : (unlessUnopened(() => opening.body(message)) ?? null),
  });
  return {
    get: async (id) => openedSession(await inner.get(id)),
    put: async (session, room) => inner.put({ ...session, state: sealing.body(session.state) }, room),
    async update(id, state, before) {
      // No two sealed forms of a state are the same: it is replaced as it is stored, unless it was replaced meanwhile.
      for (;;) {
        const stored = await inner.get(id);
        if (stored === undefined || openedSession(stored)?.state !== before) return false;
        if (await inner.update(id, sealing.body(state), stored.state)) return true;
      }
    },
    extend: (ends) => inner.extend(ends),
    delete: (ids) => inner.delete(ids),
    deleteUnextended: (ends) => inner.deleteUnextended(ends),
    deleteExpired: (now, limit) => inner.deleteExpired(now, limit),
    tasksOf: (...request) => inner.tasksOf(...request),
    tell: async (id, message) => inner.tell(id, sealing.body(message)),
    subscribe: (listener) =>
      inner.subscribe((news) => listener(news === "gap" ? news : news.map(openedNews))),
  };
}

function unlessUnopened<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unopened) return undefined;
    throw error;
  }
}
