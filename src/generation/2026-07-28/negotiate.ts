import { isJsonObject, type JsonObject } from "../json-object.ts";

/** The extension's id, under `extensions` of both sides' capabilities (X-001). */
export const extensionId = "io.modelcontextprotocol/tasks";

/** The key in each request that holds its client's capabilities. */
const clientCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** Client capabilities, as they are declared. */
export type Capabilities = JsonObject;

/** What a client must declare to get tasks. */
export const tasksCapability: Capabilities = { extensions: { [extensionId]: {} } };

/** The capabilities of this request alone; earlier requests do not matter (X-006, X-B-003). */
export function readCapabilities(params: unknown): Capabilities | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const declared = isJsonObject(meta) ? meta[clientCapabilitiesKey] : undefined;
  return isJsonObject(declared) ? declared : undefined;
}

/** Whether the caller can handle a task. The legacy `tasks` capability does not count (X-P-014). */
export function declaresTasks(capabilities: Capabilities): boolean {
  const { extensions } = capabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[extensionId]);
}

/** The named capabilities that are not declared, in the form in which capabilities are declared. */
export function missingCapabilities(
  names: readonly string[],
  capabilities: Capabilities,
): Capabilities | undefined {
  const missing = names.filter((name) => !isJsonObject(capabilities[name]));
  return missing.length === 0 ? undefined : Object.fromEntries(missing.map((name) => [name, {}]));
}
