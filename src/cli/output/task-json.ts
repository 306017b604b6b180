import type { CallToolResult } from "@modelcontextprotocol/client";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import type { TaskJson } from "./json-shapes.ts";

/** Which server a task is on. */
export interface TaskOrigin {
  readonly server: string;
  readonly tool?: string | undefined;
}

export function taskJson(task: RemoteTask, { server, tool = task.tool }: TaskOrigin): TaskJson {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return {
    id: taskId,
    server,
    ...(tool !== undefined && { tool }),
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs,
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...ofStatus(task),
  };
}

/** A call that was answered directly. */
export function directJson(result: CallToolResult, { server, tool }: TaskOrigin): TaskJson {
  return { id: null, server, ...(tool !== undefined && { tool }), status: "completed", result };
}

function ofStatus(task: RemoteTask): Pick<TaskJson, "questions" | "result" | "error"> {
  switch (task.status) {
    case "working":
    case "cancelled":
      return {};
    case "input_required":
      return {
        questions: Object.entries(task.inputRequests).map(([key, { method, params }]) => ({
          key,
          method,
          params,
        })),
      };
    case "completed":
      return { result: task.result };
    case "failed":
      return { error: task.error };
  }
}
