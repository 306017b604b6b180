import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest } from "@modelcontextprotocol/client";
import { extensionId } from "../../generation/2026-07-28/negotiate.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";

/**
 * The handshake of this revision and earlier ones: without the tasks extension, which only later ones have, and with
 * the tasks that this client takes (C-004, C-006), if it takes any.
 */
export function amendHandshake(message: JSONRPCMessage, receives: boolean): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "initialize") return message;
  const { capabilities } = message.params ?? {};
  if (!isJsonObject(capabilities)) return message;
  const { extensions, ...declared } = capabilities;
  const { [extensionId]: _, ...others } = isJsonObject(extensions) ? extensions : {};
  const kept = {
    ...declared,
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(receives && { tasks: clientTasksCapability(declared) }),
  };
  return { ...message, params: { ...message.params, capabilities: kept } };
}

function clientTasksCapability({ elicitation, sampling }: JsonObject): object {
  const requests = {
    ...(elicitation !== undefined && { elicitation: { create: {} } }),
    ...(sampling !== undefined && { sampling: { createMessage: {} } }),
  };
  return { list: {}, cancel: {}, requests };
}
