import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { Violation } from "../reply/reply.ts";
import type { CallAnswer } from "../task-protocol.ts";
import { readQuestions } from "./read-questions.ts";
import { readTask } from "./read-task.ts";
import { readToolResult, unknownResultType } from "./read-tool-result.ts";

/** Reads the answer to `tools/call`, by its resultType; none means complete, an unknown one is invalid (X-B-006). */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  switch (answer["resultType"]) {
    case undefined:
    case "complete": {
      const result = readToolResult(answer);
      return result instanceof Violation ? result : { kind: "result", result };
    }
    case "task":
      return readCreated(answer);
    case "input_required":
      return readRound(answer);
    default:
      return unknownResultType(answer);
  }
}

/** Reads an acknowledgement, of which only the resultType means anything. */
export function readAcknowledgement(answer: JsonObject): undefined | Violation {
  const known = answer["resultType"] === undefined || answer["resultType"] === "complete";
  return known ? undefined : unknownResultType(answer);
}

function readCreated(answer: JsonObject): CallAnswer | Violation {
  const { taskId } = answer;
  if (typeof taskId !== "string" || taskId === "")
    return new Violation("The server created a task without a taskId");
  // In any other status the answer lacks what a poll tells (the result, the questions); so it is polled at once.
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
