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
import { getTask, requestorWith, type TaskMethods, type TaskSession } from "../sessions/task-session.ts";

/** How the methods about tasks are answered. */
export const methods: TaskMethods<TasksMethod, TaskSession> = {
  async "tasks/get"(request, session) {
    return { result: { ...shown(await getTask(session, readTaskId("tasks/get", request.params), request)) } };
  },

  async "tasks/result"({ id, params, signal, access, trace }, session) {
    const { connection, subscriptions } = session;
    const taskId = readTaskId("tasks/result", params);
    const wait = { connection, request: id, signal: AbortSignal.any([signal, connection.lost(id, signal)]) };
    const finished = await subscriptions.finished(taskId, requestorWith(session, access), wait);
    trace?.about(taskId);
    session.runtime.retrieved(finished.task, "tasks/result");
    return taskResult(finished);
  },

  async "tasks/cancel"({ params, access, trace }, session) {
    const taskId = readTaskId("tasks/cancel", params);
    const cancelled = await session.runtime.cancelNow(taskId, requestorWith(session, access));
    trace?.about(taskId);
    return { result: { ...shown(cancelled) } };
  },

  async "tasks/list"({ params, access }, session) {
    const requestor = requestorWith(session, access);
    const { tasks, nextCursor } = await listPage(session.runtime, requestor, params, listing);
    return { result: { ...listResult(tasks, nextCursor) } };
  },
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
