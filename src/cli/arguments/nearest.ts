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
    const distance = isBeginning ? 0.5 : distanceOf(wanted, lower, allowed);
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

/**
 * The edit distance: how many letters to add, drop, replace or swap with their neighbour. Infinity as soon as it exceeds `most`, because
 * servers choose names, which can be long.
 */
function distanceOf(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1];
      const replaced = (row[j - 1] ?? Infinity) + (same ? 0 : 1);
      const added = Math.min(row[j] ?? Infinity, next[j - 1] ?? Infinity) + 1;
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(replaced, added, swapped));
    }
    if (Math.min(...next) > most) return Infinity;
    [before, row] = [row, next];
  }
  return row[other.length] ?? Infinity;
}
