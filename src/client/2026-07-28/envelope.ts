import type { ClientCapabilities, Implementation, JSONRPCMessage } from "@modelcontextprotocol/client";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  isJSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/client";
import { generation, extensionId } from "../../generation/2026-07-28.ts";
import { taskLinesCapability } from "../../generation/extensions.ts";
import { isJsonObject } from "../../generation/message.ts";

/** Adds the tasks extension to the capabilities. It has no settings. */
export function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { ...capabilities.extensions, [extensionId]: {} } };
}

/**
 * What the SDK's client declares. If it listens, it also declares that it accepts pushes of logs and outputs; this decides what the
 * server declares.
 */
export function declaredOnConnect(capabilities: ClientCapabilities, listen: boolean): ClientCapabilities {
  const declared = withTasks(capabilities);
  return listen
    ? { ...declared, extensions: { ...declared.extensions, [taskLinesCapability]: {} } }
    : declared;
}

/** The `_meta` of every request: servers remember nothing from earlier ones (X-002, X-B-001). */
export function envelope(
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
): Record<string, unknown> {
  return {
    [PROTOCOL_VERSION_META_KEY]: generation,
    [CLIENT_CAPABILITIES_META_KEY]: withTasks(capabilities),
    [CLIENT_INFO_META_KEY]: clientInfo,
  };
}

/**
 * Removes the extension's declaration from the SDK client's own `tools/call`: the SDK cannot handle a task as the
 * answer, and the task would be lost. Without the declaration the server answers directly.
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
