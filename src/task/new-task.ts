import type { Expiry } from "./expiry.ts";
import type { Progress, TaskRecord } from "./record.ts";

/** The part of a record that its creator decides; the rest follows from it. */
export type NewTask = Pick<
  TaskRecord,
  | "id"
  | "wireId"
  | "generation"
  | "scope"
  | "principal"
  | "method"
  | "tool"
  | "idempotencyKey"
  | "requestHash"
  | "requiredScopes"
  | "expiry"
  | "runUntil"
  | "pollIntervalMs"
  | "statusMessage"
  | "notifies"
>;

/** What the handler can change while it runs. Members that are left out stay unchanged. */
export interface TaskChanges {
  readonly statusMessage?: string | null;
  readonly pollIntervalMs?: number;
  readonly expiry?: Expiry;
  /** Ignored, with its total and message, if it is lower than the task's own; an equal one replaces these two. */
  readonly progress?: Progress;
  /** Whether the task waits for its client because of questions outside the journal. */
  readonly waiting?: boolean;
}
