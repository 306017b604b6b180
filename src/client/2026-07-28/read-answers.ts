import type { CallToolResult } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { Violation } from "../reply/reply.ts";
import type { CallAnswer } from "../task-protocol.ts";
import { isJsonRpcError } from "../reply/error-body.ts";
import {
  directAnswer,
  readTaskId,
  readTaskMembers,
  readToolResult,
  unknownResultType,
  unknownStatus,
  violationOfId,
} from "../reply/read-members.ts";
import type { RemoteTask, OpenQuestion } from "../task/remote-task.ts";

/**
 * Reads the answer to `tools/call` by its resultType: a missing one means complete, an unknown one is invalid
 * (X-B-006).
 */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  switch (answer["resultType"]) {
    case undefined:
    case "complete":
      return directAnswer(readCompleteResult(answer));
    case "task":
      return readCreated(answer);
    case "input_required":
      return readRound(answer);
    default:
      return unknownResultType(answer);
  }
}

/** Reads an acknowledgement. Only its resultType is checked. */
export function readAcknowledgement(answer: JsonObject): undefined | Violation {
  const known = answer["resultType"] === undefined || answer["resultType"] === "complete";
  return known ? undefined : unknownResultType(answer);
}

function readCreated(answer: JsonObject): CallAnswer | Violation {
  const taskId = readTaskId(answer, "created");
  if (taskId instanceof Violation) return taskId;
  // In any other status the answer lacks the result or the questions, and the task is polled at once.
  const task = answer["status"] === "working" ? readTask(answer) : undefined;
  return { kind: "task", taskId, task: task instanceof Violation ? undefined : task };
}

function readRound(answer: JsonObject): CallAnswer | Violation {
  const { inputRequests, requestState } = answer;
  if (requestState !== undefined && typeof requestState !== "string") {
    return new Violation("The server asks for input with a requestState that is not a string");
  }
  if (!isJsonObject(inputRequests) && requestState === undefined) {
    return new Violation("The server asks for input with neither inputRequests nor requestState");
  }
  const questions = readQuestions(inputRequests ?? {});
  return questions instanceof Violation ? questions : { kind: "questions", questions, requestState };
}

/** Reads the result of `tasks/get` for this task. The resultType "task" counts as "complete". */
export function readGetResult(answer: JsonObject, taskId: string): RemoteTask | Violation {
  const { resultType } = answer;
  if (resultType !== undefined && resultType !== "complete" && resultType !== "task") {
    return unknownResultType(answer);
  }
  return violationOfId(answer, taskId) ?? readTask(answer);
}

/** Reads a task. Unknown fields are left out, and invalid hints ignored. */
export function readTask(answer: JsonObject): RemoteTask | Violation {
  const { status, ttlMs, pollIntervalMs } = answer;
  const base = readTaskMembers(answer, ttlMs, pollIntervalMs);
  if (base instanceof Violation) return base;
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
      const result = readCompleteResult(answer["result"]);
      return result instanceof Violation ? result : { ...base, status, result };
    }
    case "failed": {
      const { error } = answer;
      if (!isJsonRpcError(error)) return new Violation("The server sent a failed task without its error");
      return { ...base, status, error };
    }
    default:
      return unknownStatus(status);
  }
}

/** Reads `inputRequests`, with any methods. */
export function readQuestions(value: unknown): ReadonlyMap<string, OpenQuestion> | Violation {
  if (!isJsonObject(value)) return new Violation("The server sent inputRequests that are not an object");
  const questions = new Map<string, OpenQuestion>();
  for (const [key, request] of Object.entries(value)) {
    if (!isJsonObject(request) || typeof request["method"] !== "string") {
      return new Violation(`The server sent an input request without a method: ${JSON.stringify(key)}`);
    }
    const params = isJsonObject(request["params"]) ? request["params"] : {};
    questions.set(key, { method: request["method"], params });
  }
  return questions;
}

/** Reads a tool's result, from a direct answer or a task. In a task it may lack its resultType. */
function readCompleteResult(answer: JsonObject): CallToolResult | Violation {
  const { resultType, ...result } = answer;
  const isComplete = resultType === undefined || resultType === "complete";
  return isComplete ? readToolResult(result) : unknownResultType(answer);
}
