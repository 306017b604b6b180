import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest } from "@modelcontextprotocol/client";
import { extensionId } from "../../generation/2026-07-28.ts";
import { taskLinesCapability, withTaskLines } from "../../generation/extensions.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/**
 * Rewrites the handshake of revisions with sessions: removes the tasks extension, which only later revisions have, declares instead that
 * the client accepts pushes of logs and outputs, and declares the tasks that this client runs, if any. `tasks` makes that declaration for
 * a protocol version.
 */
export function rewriteInitialize(
  message: JSONRPCMessage,
  tasks: ((version: unknown, declared: JsonObject) => object | undefined) | undefined,
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
  const received = tasks?.(protocolVersion, declared);
  const kept = {
    ...(lines === undefined ? declared : withTaskLines(declared, "experimental")),
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(received !== undefined && { tasks: received }),
  };
  return { ...message, params: { ...message.params, capabilities: kept } };
}
