import type { StepContext, TaskContext } from "../tool/task-context.ts";

/** What a function on a thread gets as its second argument. Its reports are those of the task. */
export interface WorkerStepContext
  extends StepContext, Pick<TaskContext, "log" | "output" | "progress" | "status"> {}
