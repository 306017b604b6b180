import { stripVTControlCharacters } from "node:util";

/** Characters at which some terminals break a line. */
const lineBreaks = /\r\n?|[\u0085\u2028\u2029]/g;

/** Control characters and text direction overrides: replaced by a visible mark, since they may be an attack. */
const controls = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Invisible characters that can hide text. Joiners are kept: emoji and several scripts need them. */
const shapeless =
  /[\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]/gu;

const mark = "\ufffd";

/**
 * Makes a server's text safe for a terminal: keeps newlines and tabs, removes escape sequences, and replaces other
 * control characters by a visible mark.
 */
export function sanitizeText(text: string): string {
  const lines = stripVTControlCharacters(text).replace(lineBreaks, "\n").replace(shapeless, "");
  return lines.replace(controls, (control) => (control === "\n" || control === "\t" ? control : mark));
}

/** The same on one line: collapses white space. `longest` is in UTF-16 units. */
export function sanitizeLine(text: string, longest = 1000): string {
  // Cut first: a long text would cost time at each update.
  const line = sanitizeText(text.slice(0, 2 * longest))
    .replace(/\s+/gu, " ")
    .trim();
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line;
}
