import type { JsonObject } from "../json-object.ts";

/**
 * A result on the wire, alone or inside a completed task. It is always complete, whatever the handler returned: no tool can fake a
 * task.
 */
export function completeResult(result: JsonObject): JsonObject {
  return { ...result, resultType: "complete" };
}
