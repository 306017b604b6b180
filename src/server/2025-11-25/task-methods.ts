import {
  cancelResult,
  listResult,
  readTaskId,
  type TasksMethod,
  taskResult,
  wireTask,
} from "../../generation/2025-11-25.ts";
import { listPage } from "../list-page.ts";
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
    return { result: { ...wireTask((await getTask(session, id, request)).task) } };
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
    const { task, cancelled } = await session.runtime.cancelNow(id, requestorWith(session, access));
    trace?.about(id);
    return { result: { ...cancelResult(task, cancelled) } };
  },
};

export const list: ListTasks = async ({ params, access }, runtime, sessions) => {
  const { tasks, nextCursor } = await listPage(runtime, listedIn(sessions, access), params, wireTask);
  return { result: { ...listResult(tasks, nextCursor) } };
};
