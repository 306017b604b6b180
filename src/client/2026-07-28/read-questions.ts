import { isJsonObject } from "../../generation/json-object.ts";
import type { OpenQuestion } from "../task/remote-task.ts";
import { Violation } from "../reply/reply.ts";

/** Reads `inputRequests`. Which methods can be answered is not decided here. */
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
