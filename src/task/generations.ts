import type { Expiry } from "./expiry.ts";

/** What differs between the generations of tasks apart from their wire forms. */
interface Generation {
  /** Whether clients see a ttl that counts from the creation of a task, and grows where the task is kept from its end. */
  readonly showsTtl: boolean;
  /** From when the ttl counts that a handler sets. */
  readonly handlerTtlFrom: Expiry["from"];
  /** Whether requestors choose the names of their tasks, instead of learning their ids. */
  readonly requestorsNameTasks: boolean;
  /**
   * The fault of a handler that asks a client for what it did not declare: an error of the protocol where that has one,
   * otherwise the result of the tool says what went wrong.
   */
  readonly undeclared: "missing_capability" | "input_failed";
}

/**
 * The generations of tasks, each one wire form, newest first; then `plain` for callers that have no tasks, and `child` for tasks that
 * other tasks made, which no requestor sees. What both sides of the wire share of one is in `src/generation`.
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

/** One wire form of tasks. `plain` is for callers that have none, and `child` for tasks that other tasks made, which no requestor sees. */
export type GenerationName = keyof typeof generations;

export const generationNames = Object.keys(generations) as readonly GenerationName[];
