/** Causes may form a circle. */
const mostCauses = 10;
/** Per error, in UTF-16 units: more than any reader keeps, and small enough to join, even for huge errors. */
const longest = 40_000;

/** The stack of a thrown value, with those of its causes; undefined if it has none. Never throws. */
export function thrownStack(thrown: unknown): string | undefined {
  const stacks: string[] = [];
  try {
    let at: unknown = thrown;
    for (let depth = 0; at instanceof Error && depth < mostCauses; depth++) {
      if (at.stack !== undefined) stacks.push(String(at.stack).slice(0, longest));
      at = at.cause;
    }
  } catch {
    // Its getters are the author's.
  }
  return stacks.length === 0 ? undefined : stacks.join("\ncaused by: ");
}
