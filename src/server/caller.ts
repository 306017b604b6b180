import type { Capabilities } from "../generation/2026-07-28/negotiate.ts";

/** Who sent a request, and what it says it can do. */
export interface Caller {
  /** Declared on this very request; empty where it declares none. */
  readonly capabilities: Capabilities;
  /** Null where callers are not told apart and a task's id is the only key. */
  readonly principal: string | null;
}
