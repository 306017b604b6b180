import {
  withTask,
  type TaskParams,
  createdMethod,
  isFinal,
  type WireStatus,
} from "../../../src/generation/sep-1686.ts";
import type { Message } from "../../kit/messages.ts";
import type { InMemorySession } from "../../kit/in-memory-session.ts";

const relatedKey = "modelcontextprotocol.io/related-task";

/** What `_meta` of messages of a task is. */
export const related = (taskId: string): object => ({ [relatedKey]: { taskId } });

export const about = (taskId: string): object => ({ taskId, _meta: related(taskId) });

/** Calls a tool as a task under an id of ours, and gives the id of the request. */
export function callAs(
  session: InMemorySession,
  task: TaskParams,
  name: string,
  args: object = {},
): string | number {
  return session.begin("tools/call", withTask({ name, arguments: args }, task));
}

/** The notification that the task is there. */
export function created(session: InMemorySession, taskId: string): Promise<Message> {
  return session.message(
    (message) =>
      message["method"] === createdMethod &&
      JSON.stringify(message["params"]).includes(JSON.stringify(taskId)),
  );
}

/** Calls a tool as a task and resolves once that is there. */
export async function start(
  session: InMemorySession,
  taskId: string,
  name: string,
  args: object = {},
): Promise<string | number> {
  const request = callAs(session, { taskId }, name, args);
  await created(session, taskId);
  return request;
}

/** The task once it has one of these statuses; without any, once it has ended. */
export async function until(
  session: InMemorySession,
  taskId: string,
  ...statuses: WireStatus[]
): Promise<Message> {
  for (;;) {
    const task = await session.request("tasks/get", about(taskId));
    const status = task["status"] as WireStatus;
    if (statuses.length === 0 ? isFinal(status) : statuses.includes(status)) return task;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
