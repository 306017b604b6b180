import type { CallToolResult } from "@modelcontextprotocol/client";
import { type JsonObject, isJsonObject } from "../../generation/json-object.ts";
import { Violation } from "../reply/reply.ts";
import type { TaskPage, TaskSummary } from "../task/listed-task.ts";

/** Reads a tool's result, from a call or `tasks/result`. */
export function readToolResult(answer: JsonObject): CallToolResult | Violation {
  const withContent = { content: [], ...answer };
  return isToolResult(withContent)
    ? withContent
    : new Violation("A tool's result has content that is no list");
}

// All other members are passed on unchecked.
function isToolResult(value: JsonObject): value is CallToolResult {
  return Array.isArray(value["content"]);
}

/** Reads the answer to `tasks/list`, its tasks by `readSummary`. One invalid task makes the page invalid. */
export function readTaskPage(
  answer: JsonObject,
  readSummary: (task: JsonObject) => TaskSummary | Violation,
): TaskPage<TaskSummary> | Violation {
  const { tasks, nextCursor = null } = answer;
  if (!Array.isArray(tasks)) return new Violation("The server sent a list without tasks");
  // Ignoring it would end the list too early.
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

/** The params of `tasks/list`. Cursors are opaque (C-070, C-074, S-044, S-048). */
export function listParams(cursor: string | undefined): JsonObject {
  return cursor === undefined ? {} : { cursor };
}
