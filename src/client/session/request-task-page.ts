import { type JsonObject, isJsonObject } from "../../generation/message.ts";
import type { ClientClock } from "../clock.ts";
import { readReply, Violation, type Reply } from "../reply/reply.ts";
import type { TaskPage, TaskSummary } from "../task/remote-task.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";

interface Services {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
}

/**
 * Sends `tasks/list`, whose cursors are opaque (C-070, C-074, S-044, S-048), with `more` params. Reads the tasks by `readSummary`: one
 * invalid task makes the page invalid.
 */
export async function requestTaskPage(
  services: Services,
  cursor: string | undefined,
  readSummary: (task: JsonObject) => TaskSummary | Violation,
  signal: AbortSignal,
  more: JsonObject = {},
): Promise<Reply<TaskPage<TaskSummary>>> {
  const params = cursor === undefined ? more : { ...more, cursor };
  const reply = await requestWithTimeout(services, "tasks/list", params, signal);
  return readReply(reply, (answer) => readTaskPage(answer, readSummary));
}

function readTaskPage(
  answer: JsonObject,
  readSummary: (task: JsonObject) => TaskSummary | Violation,
): TaskPage<TaskSummary> | Violation {
  const { tasks, nextCursor = null } = answer;
  if (!Array.isArray(tasks)) return new Violation("The server sent a task list without tasks");
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
