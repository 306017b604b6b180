import {
  diagnose,
  listResult,
  readTaskId,
  type TasksMethod,
  taskResult,
  wireStatus,
  wireTask,
  type WireTask,
} from "../../generation/2025-11-25.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import { listPage, type Listing } from "../list-page.ts";
import {
  getTask,
  listedIn,
  requestorWith,
  type ListTasks,
  type TaskMethods,
} from "../sessions/task-session.ts";

/** How the methods about one task are answered. */
export const methods: TaskMethods<Exclude<TasksMethod, "tasks/list">> = {
  async "tasks/get"(request, session) {
    const id = await session.find(readTaskId("tasks/get", request.params));
    return { result: { ...shown(await getTask(session, id, request)) } };
  },

  async "tasks/result"({ id: request, params, signal, access, trace }, session) {
    const { connection, subscriptions } = session;
    const id = await session.find(readTaskId("tasks/result", params));
    const over = AbortSignal.any([signal, connection.lost(request, signal)]);
    const wait = { connection, request, signal: over };
    const finished = await subscriptions.finished(id, requestorWith(session, access), wait);
    trace?.about(id);
    session.runtime.retrieved(finished.task, "tasks/result");
    return taskResult(finished);
  },

  async "tasks/cancel"({ params, access, trace }, session) {
    const id = await session.find(readTaskId("tasks/cancel", params));
    const cancelled = await session.runtime.cancelNow(id, requestorWith(session, access));
    trace?.about(id);
    return { result: { ...shown(cancelled) } };
  },
};

export const list: ListTasks = async ({ params, access }, runtime, sessions) => {
  const { tasks, nextCursor } = await listPage(runtime, listedIn(sessions, access), params, listing);
  return { result: { ...listResult(tasks, nextCursor) } };
};

/** As `tasks/get` shows it. Only the outcome of a failed task is read, which has the reason. */
const listing: Listing<WireTask> = {
  short: (task) =>
    task.statusMessage === null && wireStatus(task) === "failed" ? undefined : wireTask(task),
  whole: shown,
};

function shown(snapshot: TaskSnapshot): WireTask {
  return wireTask(snapshot.task, diagnose(snapshot));
}
