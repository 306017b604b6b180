import type { InputRequest } from "../task/input.ts";
import type { Outcome } from "../task/outcome.ts";
import type { TaskRecord } from "../task/record.ts";

/** One consistent reading of a task: all that a generation needs to show it. */
export interface TaskView {
  readonly task: TaskRecord;
  /** Open inputs in the order in which they were asked; empty on a finished task. */
  readonly inputs: readonly InputRequest[];
  readonly outcome: Outcome | null;
}
