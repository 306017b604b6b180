import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { declaresTaskLines, taskResourceTemplates, withTaskLines } from "../../generation/task-lines.ts";
import type { Amend } from "./dispatch-transport.ts";

/**
 * What the answer to a request of 2026-07-28 says of logs and outputs to a client that asks for it; undefined for every other one.
 * No cache may give such an answer to another client.
 */
export function linesAnnouncement(
  method: string,
  params: unknown,
  clientCapabilities: JsonObject,
): Amend | undefined {
  if (!declaresTaskLines(clientCapabilities, "extensions")) return undefined;
  if (method === "resources/templates/list") {
    return (result) => ({ ...withTemplates(result, params), cacheScope: "private" });
  }
  if (method !== "server/discover") return undefined;
  return ({ capabilities, ...result }) => ({
    ...result,
    capabilities: withTaskLines(capabilities, "extensions"),
    cacheScope: "private",
  });
}

/** A list of resource templates with those of logs and outputs, which stand on its first page. */
export function withTemplates(result: JsonObject, params: unknown): JsonObject {
  const { resourceTemplates } = result;
  const isFirst = !isJsonObject(params) || params["cursor"] === undefined;
  if (!isFirst || !Array.isArray(resourceTemplates)) return result;
  return { ...result, resourceTemplates: [...(resourceTemplates as unknown[]), ...taskResourceTemplates] };
}
