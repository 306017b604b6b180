import { distance as editDistance } from "fastest-levenshtein";

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
