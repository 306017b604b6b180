import type { SessionNews, SessionStore, StoredSession } from "../session-store.ts";
import { DecryptionError } from "../../task/stored-text.ts";
import type { Encryption } from "./encryption.ts";

/** Encrypts the state of sessions and the messages about them. The rest is needed to find them. */
export function encryptedSessions(
  inner: SessionStore,
  { sealing, opening }: Pick<Encryption, "sealing" | "opening">,
): Required<SessionStore> {
  /** A session that cannot be decrypted counts as missing: its client starts another one. */
  const openedSession = (session: StoredSession | undefined): StoredSession | undefined => {
    const state = session && unlessUndecrypted(() => opening.body(session.state));
    return session && state !== undefined ? { ...session, state } : undefined;
  };
  /** If a message cannot be decrypted, the process that serves the session reads the session again. */
  const openedNews = ({ id, message }: SessionNews): SessionNews => ({
    id,
    message: message === null ? null : (unlessUndecrypted(() => opening.body(message)) ?? null),
  });
  return {
    get: async (id) => openedSession(await inner.get(id)),
    put: async (session, room) => inner.put({ ...session, state: sealing.body(session.state) }, room),
    async update(id, state, before) {
      // Each encryption of a state differs, so compare the stored text; if the state was replaced meanwhile, try again.
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
    send: async (id, message) => inner.send(id, sealing.body(message)),
    subscribe: (listener) =>
      inner.subscribe((news) => listener(news === "gap" ? news : news.map(openedNews))),
  };
}

function unlessUndecrypted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}
