import { quote, split } from "shlex";
import { distance as editDistance } from "fastest-levenshtein";
import { sanitizeLine } from "../terminal/text.ts";

/** Characters without a special meaning in any Windows shell. In PowerShell a comma makes a list, and so does `@`. */
const bare = /^[\w+=:./\\-]+$/;
/** Characters that PowerShell or cmd expand within double quotes, or that end them. */
const special = /["$`%!]/;

/**
 * Quotes a text as one word of a command line to copy into a shell of this system. On Windows PowerShell and cmd both understand double
 * quotes; a text with special characters is quoted for PowerShell.
 */
export function quoteWord(text: string, platform = process.platform): string {
  if (platform !== "win32") return quote(text);
  if (bare.test(text)) return text;
  if (special.test(text)) return `'${text.replaceAll("'", "''")}'`;
  // A program reads a backslash before the closing quote as an escape.
  return `"${text.replace(/\\+$/, "$&$&")}"`;
}

/** The words of a command line, split as a shell of this system would. */
export function splitWords(line: string, platform = process.platform): readonly string[] {
  return split(platform === "win32" ? withPlainBackslashes(line) : keepingPaths(line));
}

/** On Windows a backslash separates folders; it escapes only a double quote. */
function withPlainBackslashes(line: string): string {
  return line.replace(/'[^']*'|\\"|\\/g, (part) => (part === "\\" ? "\\\\" : part));
}

/** Keeps backslashes before letters, which a shell would drop: a copied command may contain Windows paths. */
function keepingPaths(line: string): string {
  const parts = /'[^']*'|"(?:\\.|[^"\\])*"|\\\\|\\(?=[\w.-])/gs;
  return line.replace(parts, (part) => (part === "\\" ? "\\\\" : part));
}

/** The word that the user probably meant by a mistyped one; undefined if none is near enough. */
export function nearest(typed: string, words: Iterable<string>): string | undefined {
  const wanted = typed.toLowerCase();
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const word of words) {
    const lower = word.toLowerCase();
    const length = Math.min(wanted.length, lower.length);
    // A third of the letters may differ. A word that the typed text begins is near, too.
    const allowed = Math.max(1, Math.floor(length / 3));
    const isBeginning = length >= 2 && lower.startsWith(wanted);
    // Servers choose names, which can be long.
    const isNear = Math.abs(wanted.length - lower.length) <= allowed;
    const distance = isBeginning ? 0.5 : isNear ? distanceOf(wanted, lower) : Infinity;
    if (distance > allowed || distance >= length) continue;
    if (best === undefined || distance < best.distance) best = { word, distance };
  }
  return best?.word;
}

/** `Did you mean "report"? `, with its space; empty if no word is near. */
export function didYouMean(typed: string, words: Iterable<string>): string {
  const word = nearest(typed, words);
  return word === undefined ? "" : `Did you mean ${JSON.stringify(word)}? `;
}

/** How many letters to add, drop or replace, or to swap with another. */
function distanceOf(one: string, other: string): number {
  const distance = editDistance(one, other);
  return distance === 2 && lettersOf(one) === lettersOf(other) ? 1 : distance;
}

function lettersOf(word: string): string {
  return word.split("").toSorted().join("");
}

/** The command to return to a task. The id comes from the server, so it is sanitized and quoted. */
export function watchCommand(taskId: string, server?: string): string {
  return `holdfast watch ${quoteWord(sanitizeLine(taskId))}${server === undefined ? "" : ` --server ${quoteWord(server)}`}`;
}

/** The command to answer a task. */
export function answerCommand(taskId: string): string {
  return `holdfast answer ${quoteWord(sanitizeLine(taskId))}`;
}
