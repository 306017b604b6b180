import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import { Violation } from "../reply/reply.ts";

/** Reads the result of a tool, answered directly or inlined in a task, where it may lack its resultType. */
export function readToolResult(answer: JsonObject): CallToolResult | Violation {
  const { resultType, ...result } = answer;
  if (resultType !== undefined && resultType !== "complete") return unknownResultType(answer);
  const withContent = { content: [], ...result };
  return isToolResult(withContent)
    ? withContent
    : new Violation("A tool's result has content that is no list");
}

// The rest of it is the tool's own and goes to the caller as it came.
function isToolResult(value: JsonObject): value is CallToolResult {
  return Array.isArray(value["content"]);
}

export function unknownResultType(answer: JsonObject): Violation {
  const { resultType, taskId } = answer;
  const named = typeof taskId === "string" && taskId !== "" ? taskId : undefined;
  return new Violation(`The server answered with resultType ${JSON.stringify(resultType)}`, named);
}
