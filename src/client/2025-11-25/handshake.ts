import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest } from "@modelcontextprotocol/client";
import { extensionId } from "../../generation/2026-07-28/negotiate.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";

/**
 * The handshake of this revision and earlier ones: without the tasks extension, which only later ones have, and with
 * the tasks that this client takes, if it takes any: `tasks` says how the version to speak declares them.
 */
export function amendHandshake(
  message: JSONRPCMessage,
  tasks: ((version: unknown, declared: JsonObject) => object) | undefined,
): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "initialize") return message;
  const { capabilities, protocolVersion } = message.params ?? {};
  if (!isJsonObject(capabilities)) return message;
  const { extensions, ...declared } = capabilities;
  const { [extensionId]: _, ...others } = isJsonObject(extensions) ? extensions : {};
  const kept = {
    ...declared,
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(tasks !== undefined && { tasks: tasks(protocolVersion, declared) }),
  };
  return { ...message, params: { ...message.params, capabilities: kept } };
}

/** What a client with these capabilities takes as tasks (C-004, C-006). */
export function tasksTaken({ elicitation, sampling }: JsonObject): object {
  const requests = {
    ...(elicitation !== undefined && { elicitation: { create: {} } }),
    ...(sampling !== undefined && { sampling: { createMessage: {} } }),
  };
  return { list: {}, cancel: {}, requests };
}
