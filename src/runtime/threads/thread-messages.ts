/** What the server and its threads tell each other. Values and errors are texts, as the journal stores them. */

import type { ValueSource } from "../stored-values.ts";

/** A function to call, once per message: a thread has one at a time. */
export interface ThreadJob {
  /** The URL of the module. */
  readonly module: string;
  readonly export: string;
  readonly input: string | null;
  readonly idempotencyKey: string;
  /** What is said of a result that cannot be stored. */
  readonly result: Pick<ValueSource, "what" | "name" | "maxBytes">;
}

export type ToThread =
  | { readonly type: "run"; readonly job: ThreadJob }
  /** The function should end. */
  | { readonly type: "abort"; readonly reason: string }
  /** What a call has come to. */
  | { readonly type: "answer"; readonly call: number; readonly error?: string };

/** How a function ended. */
export type ThreadEnd = (
  | { readonly how: "returned"; readonly value: string | null; readonly instance?: readonly [string, string] }
  /** What it returned cannot be stored. */
  | { readonly how: "refused"; readonly error: string }
  | { readonly how: "threw"; readonly error: string; readonly stack?: string }
  /** There is no such function: the server is wrong. */
  | { readonly how: "missing"; readonly problem: string }
) & {
  /** The thread is of no more use. */
  readonly isSpent?: boolean;
};

/** What a function on a thread reports, by the methods of a task. */
export const reportMethods = ["log", "output", "progress", "status"] as const;

export type ReportMethod = (typeof reportMethods)[number];

export type FromThread =
  | {
      readonly type: "call";
      readonly call: number;
      readonly method: ReportMethod;
      readonly args: readonly unknown[];
    }
  | { readonly type: "ended"; readonly end: ThreadEnd };
