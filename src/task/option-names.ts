import { HoldfastError } from "./fault.ts";

/** One `true` for each option of a type, so that the compiler finds missing names. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Throws `configuration` if the options are no object, or have a name that is unknown for `what`. */
export function assertOptionNames(what: string, given: unknown, known: object): void {
  const problem = optionProblem(what, given, known);
  if (problem !== undefined) throw new HoldfastError("configuration", problem);
}

/** What is wrong with the option names; undefined if nothing is. */
export function optionProblem(what: string, given: unknown, known: object): string | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const kind = given === null ? "null" : Array.isArray(given) ? "an array" : typeof given;
    return `${what} takes its options as an object, not ${kind}.`;
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return undefined;
  const meant = closest(unknown, Object.keys(known));
  return `${what} has no option ${JSON.stringify(unknown)}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
}

/** The known name that differs by at most two letters, or begins or ends like the unknown one: `ttl`, `ttlMs`. */
export function closest(unknown: string, known: readonly string[]): string | undefined {
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
