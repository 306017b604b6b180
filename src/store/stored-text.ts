/** A noncharacter, which no text of ours begins with; and if one does, it is escaped too. */
const escaped = "\ufffe";

/** Gives a text the form in which a database keeps it. */
export type ToStored = (text: string) => string;

/**
 * The form in which SQLite keeps a text. A JavaScript string may hold half of a surrogate pair, which UTF-8 cannot:
 * SQLite would store U+FFFD for each, and two journal keys could become one. Those rare texts are stored escaped.
 */
export function toStored(text: string): string {
  return text.isWellFormed() && !text.startsWith(escaped) ? text : escape(text);
}

/** The same for Postgres, whose texts have no NUL either. */
export function toStoredWithoutNul(text: string): string {
  return text.includes("\0") ? escape(text) : toStored(text);
}

function escape(text: string): string {
  return escaped + JSON.stringify(text);
}

/** The text that one of the above was given. */
export function fromStored(stored: string): string {
  return stored.startsWith(escaped) ? String(JSON.parse(stored.slice(escaped.length))) : stored;
}
