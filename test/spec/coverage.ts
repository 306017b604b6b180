/** The ids of all rows that a page, a comment or a title can name; the letter tells the text that it stands in. */
const id = /\b[ABCDSX](?:-[BDP])?-\d{2,3}\b/g;

/** Ids in brackets at the end of a string, with what is called on that string: `it("… [X-062 X-078]", …)`. */
const titleIds =
  /(?<call>\b[\w.]+(?:\(fullForm\))?[\w.]*\s*\(\s*)?(?<quote>["'`])(?:(?!\k<quote>)[^\\\n]|\\.)*\[(?<ids>[A-Z][A-Z\d-]*-\d+(?:[ ,]+[A-Z][A-Z\d-]*-\d+)*)\]\k<quote>/g;

/** Every id that `text` names, anywhere. */
export function citedIds(text: string): ReadonlySet<string> {
  return new Set(text.match(id));
}

/**
 * The ids that the tests in `source` say they prove. A group of tests proves nothing by its own title, nor does a
 * test that is skipped, still to be written, or in the full form only, which CI does not run.
 */
export function provenIds(source: string): ReadonlySet<string> {
  const proven = new Set<string>();
  for (const { groups } of source.matchAll(titleIds)) {
    const call = groups?.["call"] ?? "";
    if (/^(?:describe|suite)\b|\.(?:skip|todo|fails)\b|fullForm/.test(call)) continue;
    for (const one of (groups?.["ids"] ?? "").split(/[ ,]+/)) proven.add(one);
  }
  return proven;
}
