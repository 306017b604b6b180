import { specTypeSchemas } from "@modelcontextprotocol/server";
import type { InputMethod } from "../task/input.ts";

const answerSchemas = {
  "elicitation/create": specTypeSchemas.ElicitResult,
  "sampling/createMessage": specTypeSchemas.CreateMessageResult,
  "roots/list": specTypeSchemas.ListRootsResult,
} as const;

/** Whether a client's answer has the form that its question's method prescribes; handlers see no other. */
export function isAnswerTo(method: InputMethod, answer: unknown): boolean {
  return answerSchemas[method]["~standard"].validate(answer).issues === undefined;
}
