/** A noncharacter, with which none of our texts begins; if one does, it is escaped too. */
const escaped = "\ufffe";

/**
 * The form in which a database stores a text. A JavaScript string may contain half of a surrogate pair, which UTF-8 cannot: SQLite would store
 * U+FFFD for each, and two journal keys could become equal. Postgres takes no NUL, and Deno's SQLite reads a text only up to one. Such rare
 * texts are stored escaped.
 */
export function toStored(text: string): string {
  const isStorable = text.isWellFormed() && !text.includes("\0") && !text.startsWith(escaped);
  return isStorable ? text : escape(text);
}

export function storedOrNull(text: string | null): string | null {
  return text === null ? null : toStored(text);
}

/** How stored texts may begin that begin with `prefix`, as they are or escaped. */
export function storedStarts(prefix: string): readonly string[] {
  if (prefix === "") return [prefix];
  const ended = escape(`${prefix}\0`);
  const escapedStart = ended.slice(0, ended.lastIndexOf("\\u0000"));
  return toStored(prefix) === prefix ? [prefix, escapedStart] : [escapedStart];
}

function escape(text: string): string {
  return escaped + JSON.stringify(text);
}

/** The original text of a stored form. */
export function fromStored(stored: string): string {
  return stored.startsWith(escaped) ? String(JSON.parse(stored.slice(escaped.length))) : stored;
}
