/**
 * Requirements of generations that no test named yet when they were written down, for one reason: they were not served
 * yet. A row leaves when a test names it, or when it is declined with a reason of its own; the list is to become empty, and
 * then this file goes.
 */
// prettier-ignore
export const notServedYet: readonly (`C-${string}` | `S-${string}`)[] = [
  "C-131", "S-018", "S-055", "S-097",
];
