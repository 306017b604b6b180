import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { declaresTaskLines, taskResourceTemplates, withTaskLines } from "../../generation/extensions.ts";
import type { Amend } from "./dispatch-transport.ts";

/**
 * What to add about logs and outputs to the answer of a 2026-07-28 request that asks for it; undefined for all others. No cache may give
 * such an answer to another client.
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

/** Adds the templates of logs and outputs to the first page of a list of resource templates. */
export function withTemplates(result: JsonObject, params: unknown): JsonObject {
  const { resourceTemplates } = result;
  const isFirst = !isJsonObject(params) || params["cursor"] === undefined;
  if (!isFirst || !Array.isArray(resourceTemplates)) return result;
  return { ...result, resourceTemplates: [...(resourceTemplates as unknown[]), ...taskResourceTemplates] };
}
