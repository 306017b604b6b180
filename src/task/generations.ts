import type { Expiry } from "./expiry.ts";

/** How generations of tasks differ, apart from their wire forms. */
interface Generation {
  /** Whether clients see a ttl that counts from the creation of a task, and grows if the task is kept from its end. */
  readonly showsTtl: boolean;
  /** From when a ttl counts that a handler sets. */
  readonly handlerTtlFrom: Expiry["from"];
  /** Whether requestors choose the names of their tasks, instead of learning their ids. */
  readonly requestorsNameTasks: boolean;
  /**
   * The fault of a handler that asks for something that the client did not declare: a protocol error if there is one, otherwise a tool
   * result that reports it.
   */
  readonly undeclared: "missing_capability" | "input_failed";
}

/**
 * The generations of tasks, one wire form each, newest first; then `plain` for callers without task support, and `child` for tasks that
 * other tasks made, which requestors do not see. Code for both sides of the wire is in `src/generation`.
 */
export const generations = {
  "2026-07-28": {
    showsTtl: true,
    handlerTtlFrom: "created",
    requestorsNameTasks: false,
    undeclared: "missing_capability",
  },
  "2025-11-25": {
    showsTtl: true,
    handlerTtlFrom: "created",
    requestorsNameTasks: false,
    undeclared: "input_failed",
  },
  "sep-1686": {
    showsTtl: false, // its `keepAlive` counts from the end
    handlerTtlFrom: "terminal",
    requestorsNameTasks: true,
    undeclared: "input_failed",
  },
  plain: {
    showsTtl: false,
    handlerTtlFrom: "created",
    requestorsNameTasks: true,
    undeclared: "input_failed",
  },
  child: {
    showsTtl: false,
    handlerTtlFrom: "created",
    requestorsNameTasks: false,
    undeclared: "input_failed",
  },
} as const satisfies Readonly<Record<string, Generation>>;

/**
 * One wire form of tasks. `plain` is for callers without task support, and `child` for tasks that other tasks made, which requestors do not
 * see.
 */
export type GenerationName = keyof typeof generations;

export const generationNames = Object.keys(generations) as readonly GenerationName[];
