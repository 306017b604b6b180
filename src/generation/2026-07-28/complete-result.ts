import type { JsonObject } from "../json-object.ts";

/**
 * A result as it stands on the wire, alone or inside a completed task. Whatever a handler wrote there, its
 * result is complete: no tool can make up a task.
 */
export function completeResult(result: JsonObject): JsonObject {
  return { ...result, resultType: "complete" };
}
