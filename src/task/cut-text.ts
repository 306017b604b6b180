/** In code points: the length of an error line. */
const line = 200;

/** The beginning of a text that is too long for a line. It never splits a surrogate pair. */
export function cutText(text: string, longest = line): string {
  if (text.length <= longest) return text;
  // a code point has at most two units, so this contains all that is kept
  const points = Array.from(text.slice(0, 2 * longest + 2));
  return points.length <= longest ? text : `${points.slice(0, longest - 1).join("")}…`;
}
