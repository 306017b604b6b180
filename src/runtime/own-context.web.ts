import type * as Node from "./own-context.ts";

// Browsers have no async contexts, and one user.

export const ownContext: typeof Node.ownContext = () => (work) => work();

export const inThisContext: typeof Node.inThisContext = (callback) => callback;
