import type { JsonObject } from "../../generation/json-object.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import type { PlainPolicies } from "./policy.ts";

/**
 * A tool as it is listed to a client without tasks. What may answer with a ticket promises no other form of its answer:
 * clients hold structured content to the output schema that they were listed.
 */
export function listedToPlain(listed: JsonObject, registry: Registry, policies: PlainPolicies): JsonObject {
  const tool = registry.get(String(listed["name"]));
  if (tool === undefined || policies.of(tool) !== "ticket") return listed;
  const { outputSchema: _, ...without } = listed;
  return without;
}

/** A tool as it is listed to all others; undefined for a companion, which they have no use for. */
export function withoutCompanions(listed: JsonObject, policies: PlainPolicies): JsonObject | undefined {
  return policies.companion(listed["name"]) === undefined ? listed : undefined;
}
