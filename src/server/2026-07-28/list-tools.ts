import { declaresTasks, type Capabilities } from "../../generation/2026-07-28/negotiate.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import { listedToPlain, withoutCompanions } from "../plain/list.ts";
import type { PlainPolicies } from "../plain/policy.ts";

export interface ListSetup {
  readonly registry: Registry;
  readonly policies: PlainPolicies;
  /** Lists tools that run only as tasks to clients without tasks too. */
  readonly listRequiredTools: boolean;
}

/**
 * A page of the list of tools for the client of one request. A client that did not declare the extension sees companions,
 * and no tool that runs only as a task; neither list may come to the other clients out of a cache that they share. The cursor
 * stays as it is, also that of a page of which nothing is left.
 */
export function listFor(
  capabilities: Capabilities,
  result: JsonObject,
  { registry, policies, listRequiredTools }: ListSetup,
): JsonObject {
  const { tools } = result;
  if (!Array.isArray(tools)) return result;
  const isPlain = !declaresTasks(capabilities);
  const hidden = (tool: JsonObject): boolean =>
    !listRequiredTools && registry.get(String(tool["name"]))?.task === "required";
  const listed = tools.map((tool: unknown) => {
    if (!isJsonObject(tool)) return tool;
    if (!isPlain) return withoutCompanions(tool, policies);
    return hidden(tool) ? undefined : listedToPlain(tool, registry, policies);
  });
  const own = { ...result, tools: listed.filter((tool) => tool !== undefined) };
  const differs =
    policies.hasTickets || (!listRequiredTools && registry.all().some(({ task }) => task === "required"));
  return differs ? { ...own, cacheScope: "private" } : own;
}
