/** A noncharacter, which no text of ours begins with; and if one does, it is escaped too. */
const escaped = "\ufffe";

/**
 * The form in which SQLite keeps a text. A JavaScript string may hold half of a surrogate pair, which UTF-8 cannot:
 * SQLite would store U+FFFD for each, and two journal keys could become one. Those rare texts are stored escaped.
 */
export function toStored(text: string): string {
  return text.isWellFormed() && !text.startsWith(escaped) ? text : escaped + JSON.stringify(text);
}

/** The text that `toStored` was given. */
export function fromStored(stored: string): string {
  return stored.startsWith(escaped) ? String(JSON.parse(stored.slice(escaped.length))) : stored;
}
