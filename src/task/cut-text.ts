/** In code points: a line that says what went wrong. */
const line = 200;

/** The begin of a text that is too long for a line; never between the two halves of a character that takes two. */
export function cutText(text: string, longest = line): string {
  if (text.length <= longest) return text;
  // no code point has more than two units, so all that is kept is in here
  const points = Array.from(text.slice(0, 2 * longest + 2));
  return points.length <= longest ? text : `${points.slice(0, longest - 1).join("")}…`;
}
