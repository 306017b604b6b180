import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import { Violation } from "../reply/reply.ts";

/** Reads the result of a tool, as a call or `tasks/result` answers it. */
export function readToolResult(answer: JsonObject): CallToolResult | Violation {
  const withContent = { content: [], ...answer };
  return isToolResult(withContent)
    ? withContent
    : new Violation("A tool's result has content that is no list");
}

// The rest of it is the tool's own and goes to the caller as it came.
function isToolResult(value: JsonObject): value is CallToolResult {
  return Array.isArray(value["content"]);
}
