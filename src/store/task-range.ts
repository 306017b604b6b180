import type { TaskRecord } from "../task/record.ts";
import { isTerminal } from "../task/status.ts";
import type { EndedAs, TaskRange } from "./admin-store.ts";

/** Whether a task is in a range: of those that were settled, only the index of an older schema says no more than that. */
export function isInRange(range: TaskRange, task: TaskRecord): boolean {
  switch (range.of) {
    case "all":
      return true;
    case "open":
      return !isTerminal(task.state) && (range.tool === undefined || range.tool === task.tool);
    case "running":
      return task.state === "running";
    case "asking":
      return !isTerminal(task.state) && task.openInputs > 0;
    case "ended":
      return range.tool === task.tool && range.as === endedAs(task);
    case "principal":
      return range.generation === task.generation && range.principal === task.principal;
  }
}

/** How a task ended; null where it has not. */
export function endedAs({ state, outcomeKind }: Pick<TaskRecord, "state" | "outcomeKind">): EndedAs | null {
  if (state === "queued" || state === "running") return null;
  return outcomeKind ?? state;
}
