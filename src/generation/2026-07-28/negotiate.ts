import { isJsonObject, type JsonObject } from "../json-object.ts";

/** The extension's id, under `extensions` of both sides' capabilities (X-001). */
export const extensionId = "io.modelcontextprotocol/tasks";

/** Where each request carries its client's capabilities. */
const clientCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** Client capabilities, in the form in which they are declared. */
export type Capabilities = JsonObject;

/** What a client has to declare before it is handed tasks. */
export const tasksCapability: Capabilities = { extensions: { [extensionId]: {} } };

/** The capabilities that this very request declares; earlier requests do not matter (X-006, X-B-003). */
export function readCapabilities(params: unknown): Capabilities | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const declared = isJsonObject(meta) ? meta[clientCapabilitiesKey] : undefined;
  return isJsonObject(declared) ? declared : undefined;
}

/** Whether the caller can take a task. The legacy `tasks` capability does not count (X-P-014). */
export function declaresTasks(capabilities: Capabilities): boolean {
  const { extensions } = capabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[extensionId]);
}

/** Those of the named capabilities that are not declared, in the form in which they are declared. */
export function missingCapabilities(
  names: readonly string[],
  capabilities: Capabilities,
): Capabilities | undefined {
  const missing = names.filter((name) => !isJsonObject(capabilities[name]));
  return missing.length === 0 ? undefined : Object.fromEntries(missing.map((name) => [name, {}]));
}
