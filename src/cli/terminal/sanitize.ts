import { stripVTControlCharacters } from "node:util";

/** Separators that some terminals break a line at. */
const lineBreaks = /\r\n?|[\u0085\u2028\u2029]/g;

/** What moves a cursor, rings, or turns the order of what is read: shown as a mark, for somebody put it there. */
const controls = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What has no shape and can hide text in text. The joiners stay: emoji and several scripts are written with them. */
const shapeless =
  /[\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]/gu;

const mark = "\ufffd";

/**
 * Text of a server as it may be written to a terminal: newlines and tabs are left, escape sequences are gone, and what
 * else could move, hide or reorder text is a visible mark.
 */
export function sanitizeText(text: string): string {
  const lines = stripVTControlCharacters(text).replace(lineBreaks, "\n").replace(shapeless, "");
  return lines.replace(controls, (control) => (control === "\n" || control === "\t" ? control : mark));
}

/** The same on one line: each run of white space is one space. `longest` counts UTF-16 units. */
export function sanitizeLine(text: string, longest = 1000): string {
  // Cut first: what is a megabyte long is not looked at as a whole, with each update.
  const line = sanitizeText(text.slice(0, 2 * longest))
    .replace(/\s+/gu, " ")
    .trim();
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line;
}
