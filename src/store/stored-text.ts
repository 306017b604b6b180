/** A noncharacter, with which none of our texts begins; if one does, it is escaped too. */
const escaped = "\ufffe";

/** Converts a text to its stored form. */
export type ToStored = (text: string) => string;

/**
 * The form in which SQLite stores a text. A JavaScript string may contain half of a surrogate pair, which UTF-8 cannot: SQLite would store
 * U+FFFD for each, and two journal keys could become equal. Such rare texts are stored escaped.
 */
export function toStored(text: string): string {
  return text.isWellFormed() && !text.startsWith(escaped) ? text : escape(text);
}

/** The same for Postgres, whose texts cannot contain NUL either. */
export function toStoredWithoutNul(text: string): string {
  return text.includes("\0") ? escape(text) : toStored(text);
}

function escape(text: string): string {
  return escaped + JSON.stringify(text);
}

/** The original text of a stored form. */
export function fromStored(stored: string): string {
  return stored.startsWith(escaped) ? String(JSON.parse(stored.slice(escaped.length))) : stored;
}
