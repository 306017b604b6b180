import { DecryptionError } from "../task/stored-text.ts";

/** Where a value is stored, by names that every store has: never a physical table or a row number. */
export interface Place {
  readonly table:
    "task" | "request" | "journal" | "event" | "outcome" | "line" | "message" | "session" | "secret";
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
  proofOf: () => null,
  prove: () => true,
};

/** How a task ended. */
export function outcomePlace(task: string): Place {
  return { table: "outcome", column: "body", of: task };
}

/** The value of an event that no handler has waited for yet. Those of one name are not told apart. */
export function eventPlace(task: string, name: string): Place {
  return { table: "event", column: "value", of: task, key: name };
}

/** A message that waits for the client. Those of one task are not told apart: the database numbers them. */
export function messagePlace(task: string): Place {
  return { table: "message", column: "body", of: task };
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
