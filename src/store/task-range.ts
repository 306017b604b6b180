import type { TaskRecord } from "../task/record.ts";
import { isTerminal } from "../task/outcome.ts";
import type { EndedAs, TaskRange } from "./admin-store.ts";

/** Whether a task is in a range. */
export function isInRange(range: TaskRange, task: TaskRecord): boolean {
  switch (range.of) {
    case "all":
      return true;
    case "open":
      return !isTerminal(task.state);
    case "asking":
      return !isTerminal(task.state) && task.openInputs > 0;
    case "ended":
      return range.tool === task.tool && range.as === endedAs(task);
    case "principal":
      return range.generation === task.generation && range.principal === task.principal;
    case "children":
      return range.parent === task.parent?.id;
  }
}

function endedAs({ state, outcomeKind }: TaskRecord): EndedAs | null {
  return state === "cancelled" ? state : outcomeKind;
}
