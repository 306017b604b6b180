import type { InputRequest } from "./input.ts";
import type { Outcome } from "./outcome.ts";
import type { TaskRecord } from "./record.ts";

/** A task as one consistent read: every generation's answer is derived from it. */
export interface TaskSnapshot {
  readonly task: TaskRecord;
  /** Open inputs in the order in which they were asked; empty on a finished task. */
  readonly inputs: readonly InputRequest[];
  readonly outcome: Outcome | null;
}
