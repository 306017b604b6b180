import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { toolOf } from "../../generation/tool-meta.ts";
import { isJsonRpcError } from "../reply/json-rpc-error.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import { Violation } from "../reply/reply.ts";
import { readQuestions } from "./read-questions.ts";
import { readToolResult, unknownResultType } from "./read-tool-result.ts";

/** Reads the result of `tasks/get` for this task; resultType "task" is taken for "complete". */
export function readGetResult(answer: JsonObject, taskId: string): RemoteTask | Violation {
  const { resultType } = answer;
  if (resultType !== undefined && resultType !== "complete" && resultType !== "task") {
    return unknownResultType(answer);
  }
  if (answer["taskId"] !== taskId) return new Violation("The server answered for another task");
  return readTask(answer);
}

/** Reads a task, flat as it stands on the wire. Fields that nobody named are left out, and wrong hints ignored. */
export function readTask(answer: JsonObject): RemoteTask | Violation {
  const { taskId, createdAt, lastUpdatedAt, ttlMs, statusMessage, pollIntervalMs } = answer;
  if (typeof taskId !== "string" || taskId === "")
    return new Violation("The server sent a task without a taskId");
  if (typeof createdAt !== "string") return new Violation("The server sent a task without createdAt");
  const tool = toolOf(answer);
  const base = {
    taskId,
    ...(tool !== undefined && { tool }),
    createdAt,
    lastUpdatedAt: typeof lastUpdatedAt === "string" ? lastUpdatedAt : createdAt,
    ttlMs: isDuration(ttlMs) ? ttlMs : null,
    ...(typeof statusMessage === "string" && { statusMessage }),
    ...(isDuration(pollIntervalMs) && { pollIntervalMs }),
  };
  const { status } = answer;
  switch (status) {
    case "working":
    case "cancelled":
      return { ...base, status };
    case "input_required": {
      const questions = readQuestions(answer["inputRequests"] ?? {});
      if (questions instanceof Violation) return questions;
      return { ...base, status, inputRequests: Object.fromEntries(questions) };
    }
    case "completed": {
      if (!isJsonObject(answer["result"]))
        return new Violation("The server sent a completed task without its result");
      const result = readToolResult(answer["result"]);
      return result instanceof Violation ? result : { ...base, status, result };
    }
    case "failed": {
      const { error } = answer;
      if (!isJsonRpcError(error)) return new Violation("The server sent a failed task without its error");
      return { ...base, status, error };
    }
    default:
      return new Violation(`The server sent a task with status ${JSON.stringify(status)}`);
  }
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
