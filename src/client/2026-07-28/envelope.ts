import type { ClientCapabilities, Implementation, JSONRPCMessage } from "@modelcontextprotocol/client";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  isJSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/client";
import { extensionId } from "../../generation/2026-07-28/negotiate.ts";
import { isJsonObject } from "../../generation/json-object.ts";

export const protocolVersion = "2026-07-28";

/** The capabilities with this extension among them; it has no settings. */
export function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { ...capabilities.extensions, [extensionId]: {} } };
}

/** The `_meta` that every request carries; nothing is remembered from earlier ones (X-002, X-B-001). */
export function envelope(
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
): Record<string, unknown> {
  return {
    [PROTOCOL_VERSION_META_KEY]: protocolVersion,
    [CLIENT_CAPABILITIES_META_KEY]: withTasks(capabilities),
    [CLIENT_INFO_META_KEY]: clientInfo,
  };
}

/**
 * Takes the extension's declaration off the SDK client's own `tools/call`: it could not take a task as the answer,
 * and the task would be lost. Without the declaration the server answers plainly.
 */
export function withoutTasksOnCall(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "tools/call") return message;
  const meta = message.params?._meta;
  const declared: unknown = meta?.[CLIENT_CAPABILITIES_META_KEY];
  if (!isJsonObject(declared) || !isJsonObject(declared["extensions"])) return message;
  const extensions = Object.entries(declared["extensions"]).filter(([id]) => id !== extensionId);
  const capabilities = { ...declared, extensions: Object.fromEntries(extensions) };
  const params = { ...message.params, _meta: { ...meta, [CLIENT_CAPABILITIES_META_KEY]: capabilities } };
  return { ...message, params };
}
