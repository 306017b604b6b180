import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest } from "@modelcontextprotocol/client";
import { extensionId } from "../../generation/2026-07-28/negotiate.ts";
import { taskLinesCapability, withTaskLines } from "../../generation/task-lines.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";

/**
 * Rewrites the handshake of this revision and earlier ones: removes the tasks extension, which only later ones
 * have, declares in their place that it wants to hear of logs and outputs, and adds the declaration of the tasks that this client runs, if any. `tasks` makes it for a protocol
 * version.
 */
export function rewriteHandshake(
  message: JSONRPCMessage,
  tasks: ((version: unknown, declared: JsonObject) => object) | undefined,
): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "initialize") return message;
  const { capabilities, protocolVersion } = message.params ?? {};
  if (!isJsonObject(capabilities)) return message;
  const { extensions, ...declared } = capabilities;
  const {
    [extensionId]: _,
    [taskLinesCapability]: lines,
    ...others
  } = isJsonObject(extensions) ? extensions : {};
  const kept = {
    ...(lines === undefined ? declared : withTaskLines(declared, "experimental")),
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(tasks !== undefined && { tasks: tasks(protocolVersion, declared) }),
  };
  return { ...message, params: { ...message.params, capabilities: kept } };
}

/** Declares the requests that a client with these capabilities runs as tasks (C-004, C-006). */
export function tasksCapability({ elicitation, sampling }: JsonObject): object {
  const requests = {
    ...(elicitation !== undefined && { elicitation: { create: {} } }),
    ...(sampling !== undefined && { sampling: { createMessage: {} } }),
  };
  return { list: {}, cancel: {}, requests };
}
