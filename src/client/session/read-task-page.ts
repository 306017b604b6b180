import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { Violation } from "../reply/reply.ts";
import type { TaskPage, TaskSummary } from "../task/listed-task.ts";

/** Reads the answer to `tasks/list`, each task of it by `readSummary`; a page with one that cannot be read is none. */
export function readTaskPage(
  answer: JsonObject,
  readSummary: (task: JsonObject) => TaskSummary | Violation,
): TaskPage<TaskSummary> | Violation {
  const { tasks, nextCursor = null } = answer;
  if (!Array.isArray(tasks)) return new Violation("The server sent a list without tasks");
  // To leave it away would end the list before its time.
  if (nextCursor !== null && typeof nextCursor !== "string")
    return new Violation("The server sent a nextCursor that is not a string");
  const summaries: TaskSummary[] = [];
  for (const task of tasks as readonly unknown[]) {
    const summary = isJsonObject(task)
      ? readSummary(task)
      : new Violation("The server listed something that is not a task");
    if (summary instanceof Violation) return summary;
    summaries.push(summary);
  }
  return { tasks: summaries, ...(nextCursor !== null && { nextCursor }) };
}

/** The params of `tasks/list`: a cursor goes back as it came (C-070, C-074, S-044, S-048). */
export function listParams(cursor: string | undefined): JsonObject {
  return cursor === undefined ? {} : { cursor };
}
