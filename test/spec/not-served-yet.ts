/**
 * Requirements of generation 2025-11-25 that no test named yet when they were written down, for one reason: it was not
 * served yet. A row leaves when a test names it, or when it is declined with a reason of its own; the list is to become
 * empty, and then this file goes.
 */
// prettier-ignore
export const notServedYet: readonly `C-${string}`[] = ["C-131"];
