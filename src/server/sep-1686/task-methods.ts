import {
  deleteTaskResult,
  listResult,
  readTaskId,
  type TasksMethod,
  taskResult,
  errorOf,
  getTaskResult,
  wireStatus,
  wireTask,
  type WireTask,
} from "../../generation/sep-1686.ts";
import { cutText } from "../../task/stored-text.ts";
import { listPage, type Listing } from "../list-page.ts";
import { getTask, requestorWith, type TaskMethods } from "../sessions/task-session.ts";
import { ownTask, type SepSession } from "./sep-session.ts";

/** How the methods about tasks are answered, once earlier cancels are stored. */
export const methods: TaskMethods<TasksMethod, SepSession> = {
  async "tasks/get"(request, session) {
    await Promise.allSettled(session.cancels);
    const id = await ownTask(session, readTaskId("tasks/get", request.params));
    return { result: { ...getTaskResult(await getTask(session, id, request)) } };
  },

  async "tasks/result"({ params, access, trace }, session) {
    await Promise.allSettled(session.cancels);
    const id = await ownTask(session, readTaskId("tasks/result", params));
    const snapshot = await session.runtime.get(id, requestorWith(session, access));
    trace?.about(id);
    const result = taskResult(snapshot);
    session.runtime.retrieved(snapshot.task, "tasks/result");
    return { result };
  },

  async "tasks/delete"({ params, access, trace }, session) {
    await Promise.allSettled(session.cancels);
    const taskId = readTaskId("tasks/delete", params);
    const id = await ownTask(session, taskId);
    await session.runtime.delete(id, requestorWith(session, access));
    trace?.about(id);
    return { result: { ...deleteTaskResult(taskId) } };
  },

  async "tasks/list"({ params, access }, session) {
    const { runtime, scope, cancels } = session;
    await Promise.allSettled(cancels);
    const requestor = requestorWith(session, access);
    const { tasks, nextCursor } = await listPage(runtime, requestor, params, listing, { scope });
    return { result: { ...listResult(tasks, nextCursor) } };
  },
};

/** As `tasks/get` shows it, with errors cut to the length for a list. */
const listing: Listing<WireTask> = {
  short: (task) => (wireStatus(task) === "failed" ? undefined : wireTask(task)),
  whole: (snapshot) => wireTask(snapshot.task, cutText(errorOf(snapshot) ?? "")),
};
