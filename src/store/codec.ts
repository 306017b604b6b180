import { DecryptionError } from "../task/stored-text.ts";
import type { SessionNews } from "./session-store.ts";

/** Where a value is stored, by names that every store has: never a physical table or a row number. */
export interface Place {
  readonly table:
    | "task"
    | "request"
    | "journal"
    | "event"
    | "outcome"
    | "line"
    | "piece"
    | "message"
    | "session"
    | "secret"
    | "bulk_job"
    | "cause_mark";
  readonly column: string;
  /** The id of the task or session, or the name of the secret. */
  readonly of: string;
  /** Which of several values there: the key of an entry, the number of a line, the name of an event. */
  readonly key?: string | number | null;
}

/**
 * Turns texts of sealed columns into what is stored, and back. Each value is bound to its place: moved anywhere else, it cannot be opened.
 * - A body is the input or a result of a task. Opening one throws `DecryptionError` if its key is missing, or it is not what was stored there.
 * - Words are texts of a task's record, which is read wherever tasks are: without their key they stay as they are, and can be stored again.
 */
export interface Codec {
  readonly seal: (text: string, place: Place) => string;
  readonly open: (stored: string, place: Place) => string;
  /** Null: they are left out. */
  readonly sealWords: (text: string, place: Place) => string | null;
  readonly openWords: (stored: string, place: Place) => string;
  /** Of a hash ("c…"), one that only who has the first key can make ("k…"). One that is keyed already stays as it is. */
  readonly keyedHash: (hash: string) => string;
  /** A sealed value without content, which shows that what it is bound to has not changed. Null if nothing is encrypted. */
  readonly proofOf: (place: Place) => string | null;
  /** False if it cannot be known, for lack of the key. Throws `DecryptionError` if something did change. */
  readonly prove: (proof: string | null, place: Place) => boolean;
}

const same = (text: string): string => text;

/** For a store that is not encrypted. */
export const inClear: Codec = {
  seal: same,
  open: same,
  sealWords: same,
  openWords: same,
  keyedHash: same,
  proofOf: () => null,
  prove: () => true,
};

/** Where a message about a session is, for the other processes. */
export function newsPlace(session: string): Place {
  return { table: "session", column: "message", of: session };
}

/** News from another process. If it cannot be decrypted, whoever serves the session reads it again. */
export function openedNews({ id, message }: SessionNews, codec: Codec): SessionNews {
  const opened = message === null ? null : unlessUndecrypted(() => codec.open(message, newsPlace(id)));
  return { id, message: opened ?? null };
}

export function secretPlace(name: string): Place {
  return { table: "secret", column: "value", of: name };
}

/** Undefined for what cannot be decrypted. A session counts as missing then: its client starts another one. */
export function unlessUndecrypted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}
