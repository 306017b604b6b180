import {
  deleteTaskResult,
  generation,
  listResult,
  readTaskId,
  type TasksMethod,
  taskResult,
  getTaskResult,
  wireTask,
} from "../../generation/sep-1686.ts";
import { HoldfastError } from "../../task/fault.ts";
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
    return { result: { ...getTaskResult(await getTask(session, id, request)) } };
  },

  async "tasks/result"({ params, access, trace }, session) {
    const id = await session.find(readTaskId("tasks/result", params));
    const snapshot = await session.runtime.get(id, requestorWith(session, access));
    trace?.about(id);
    const result = taskResult(snapshot);
    session.runtime.retrieved(snapshot.task, "tasks/result");
    return { result };
  },

  async "tasks/delete"({ params, access, trace }, session) {
    const { runtime } = session;
    const taskId = readTaskId("tasks/delete", params);
    const id = await session.find(taskId);
    const requestor = requestorWith(session, access);
    if (requestor.generation !== generation) {
      await runtime.get(id, requestor);
      throw new HoldfastError(
        "invalid_params",
        `A task of ${requestor.generation} cannot be deleted. The server deletes it when its ttl is over.`,
      );
    }
    const kept = await runtime.delete(id, requestor);
    trace?.about(id);
    return { result: { ...deleteTaskResult(taskId, kept) } };
  },
};

export const list: ListTasks = async ({ params, access }, runtime, sessions) => {
  const { tasks, nextCursor } = await listPage(runtime, listedIn(sessions, access), params, wireTask);
  return { result: { ...listResult(tasks, nextCursor) } };
};
