/**
 * What a failure has in common with others of the same cause, as a short name.
 * - Failures of one cause that differ in ids, numbers, dates, addresses or quoted values have the same name.
 * - The tool, the step, the place, the error's name and code and the words of its message each make another cause. The tool's version does
 *   not: a failure that a new version still has goes on, and a list says with which version it began.
 * - A failure has the same cause after a crash: what a step threw is named by the step, whose error comes back without its stack.
 * - The name contains no text. A change of these rules gives old causes new names.
 */

/** Where a handler failed, besides its message. */
export interface Failure {
  /** The name and the code of the error. */
  readonly name?: string;
  readonly code?: string | number;
  /** The step, or other journalled call, that rejected with it. */
  readonly step?: string;
  /** The function and the file that threw, without lines, which move with every edit. Only for what no step threw. */
  readonly site?: string;
}

/** What operators say of the failures of a cause. */
export interface CauseMark {
  readonly cause: string;
  /** It is known: lists show it apart from those that nobody has looked at. */
  readonly muted: boolean;
  readonly note: string | null;
  /** Who said this last, and when (epoch ms). */
  readonly actor: string;
  readonly at: number;
}

export function saysNothing({ muted, note }: CauseMark): boolean {
  return !muted && note === null;
}

/** Stands for whatever varies between failures of one cause. */
const varying = "…";

/** Some causes end with a list, or with the input: what comes after so many words is left out. */
const mostWords = 40;

/** The name of the cause: "c" and 16 hexadecimal digits. */
export function causeOf(tool: string, message: string | null, failure: Failure = {}): string {
  const { name = "", code = "", step, site = "" } = failure;
  const where = step === undefined ? `at ${site}` : `in ${withoutVarying(step)}`;
  const words = messagePattern(message ?? "")
    .split(" ")
    .slice(0, mostWords);
  return `c${hash(JSON.stringify([tool, where, name, String(code), words.join(" ").toLowerCase()]))}`;
}

const quoted = /"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu;
const address = /\b[a-z][a-z\d+.-]*:\/\/[^\s"'<>)\]]+|[^\s@<>()"']+@[^\s@<>()"']+\.\p{L}+/giu;
/** A word, with the dashes, underscores and dots that ids have in them. */
const word = /[\p{L}\p{N}_]+(?:[-.:][\p{L}\p{N}_]+)*/gu;
const severalVarying = /…(?:[\s,;:/|&.()[\]{}-]*…)+/g;

/** A message with a sign in place of everything that varies between failures of one cause. */
export function messagePattern(message: string): string {
  return withoutVarying(message.replaceAll(quoted, varying).replaceAll(address, varying))
    .replaceAll(/\s+/g, " ")
    .trim();
}

function withoutVarying(text: string): string {
  return text
    .replaceAll(word, (found) =>
      /[.:]/.test(found) ? found.replaceAll(/[^.:]+/g, wordOrSign) : wordOrSign(found),
    )
    .replaceAll(severalVarying, varying);
}

function wordOrSign(found: string): string {
  return /\p{N}/u.test(found) || found.split(/[-_]/).some(isRandom) ? varying : found;
}

/** Pairs of letters that words hardly ever have, by their first one: about a third of all. */
const rare: Readonly<Record<string, string>> = {
  a: "jq",
  b: "cfgkmnpqvwxz",
  c: "bdfgjmnpvwxz",
  d: "kqtxz",
  e: "kz",
  f: "bcdghjkmnpqvwxz",
  g: "bcdfjkpqvwxz",
  h: "cfghjkpqvxz",
  i: "hijuwy",
  j: "bcdfghjklmnpqrstvwxyz",
  k: "bcdjkmpqvxz",
  l: "jqxz",
  m: "cdfghjkqrvwxz",
  n: "qxz",
  o: "qz",
  p: "cfgjkmnqvwxz",
  q: "abcdefghijklmnoprstvwxyz",
  r: "hjqxz",
  s: "bdgjvxz",
  t: "jkqvxz",
  u: "hjquvwxy",
  v: "bcdfghjklmnpqrstuvwxyz",
  w: "bcfgjmpquvwxz",
  x: "bdfgjklmnqrsvwz",
  y: "hjqvwxy",
  z: "bcdfghjkmnpqrstvwx",
};

/** Shorter ones that have only letters cannot be told from words. */
const shortestRandom = 6;

/** Whether these letters are hardly a word, but an id. Whoever takes a word for one only makes causes coarser. */
function isRandom(letters: string): boolean {
  // Capitals alone are the names of errors.
  if (letters.length < shortestRandom || !/^[a-z]+$/i.test(letters) || !/[a-z]/.test(letters)) return false;
  const parts = letters.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  const isMixed = parts.length > 2;
  if (isMixed && letters.length / parts.length < 2.5) return true;
  const shortest = isMixed ? 3 : shortestRandom;
  return parts.some((part) => part.length >= shortest && !isPronounced(part.toLowerCase()));
}

function isPronounced(part: string): boolean {
  if (!/[aeiouy]/.test(part) || /[^aeiouy]{5}|[aeiou]{5}|y.*y/.test(part)) return false;
  for (let at = 1; at < part.length; at++)
    if (rare[part.charAt(at - 1)]?.includes(part.charAt(at)) === true) return false;
  return true;
}

/** 64 bits, as hexadecimal digits: two FNV-1a hashes that begin differently. Causes of one store are few, and nobody gains by an equal one. */
function hash(text: string): string {
  let [high, low] = [0x811c9dc5, 0x9747b28c];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ (unit + at), 0x85ebca6b);
    low ^= low >>> 13;
  }
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The innermost function and file of the author's in a stack: "charge (orders.ts)"; undefined if none is known. */
export function siteIn(stack: string | undefined): string | undefined {
  for (const line of stack?.split("\n", 50) ?? []) {
    const [, called = "", file = ""] = /^\s+at (?:(.*?) \()?(.*?):\d+:\d+\)?$/.exec(line) ?? [];
    if (file === "" || /^node:|[/\\]node_modules[/\\]/.test(file)) continue;
    const name = called.replace(/^async /, "");
    const base = file.replace(/^.*[/\\]/, "").replace(/\?.*$/, "");
    return name === "" ? base : `${name} (${base})`;
  }
  return undefined;
}
