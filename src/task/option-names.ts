import { HoldfastError } from "./fault.ts";

/** One `true` for each option of a type, so that the compiler finds missing names. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Throws `configuration` if the options are no object, or have a name that is unknown for `what`. */
export function assertOptionNames(what: string, given: unknown, known: object): void {
  const problem = namesProblem(what, given, Object.keys(known));
  if (problem !== undefined) throw new HoldfastError("configuration", problem);
}

/** What is wrong with options before their values are looked at; undefined if nothing is. */
export function namesProblem(what: string, given: unknown, known: readonly string[]): string | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return `${what} takes its options as an object, not ${kindOf(given)}.`;
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  return unknown === undefined
    ? undefined
    : `${what} has no option ${JSON.stringify(unknown)}.${didYouMean(unknown, known)}`;
}

/** Without the value of a string, which may be a secret in the wrong place: a token, or the URL of a webhook. */
function kindOf(given: unknown): string {
  if (Array.isArray(given)) return "an array";
  return typeof given === "string" || typeof given === "function" ? `a ${typeof given}` : String(given);
}

/** The known name that was probably meant, as a sentence of its own; empty if none is alike. */
export function didYouMean(unknown: string, known: readonly string[], prefix = ""): string {
  const meant = closest(unknown, known);
  return meant === undefined ? "" : ` Did you mean ${prefix}${meant}?`;
}

/** The known name that differs by at most two letters, or begins or ends like the unknown one: `ttl`, `ttlMs`. */
function closest(unknown: string, known: readonly string[]): string | undefined {
  const given = unknown.toLowerCase();
  const [best] = known
    .map((name) => ({ name, distance: distance(given, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  if (best !== undefined && best.distance <= Math.min(2, given.length / 2)) return best.name;
  return known.find((name) => {
    const [short = "", long = ""] = [given, name.toLowerCase()].sort((a, b) => a.length - b.length);
    return short.length >= 3 && (long.startsWith(short) || long.endsWith(short));
  });
}

/** The edit distance: letters to change, insert or delete. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
