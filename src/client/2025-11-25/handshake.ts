import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest } from "@modelcontextprotocol/client";
import { extensionId } from "../../generation/2026-07-28/negotiate.ts";
import { isJsonObject } from "../../generation/json-object.ts";

/** Takes the tasks extension, which only later revisions have, off the handshake of this one and earlier ones. */
export function amendHandshake(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "initialize") return message;
  const { capabilities } = message.params ?? {};
  if (!isJsonObject(capabilities) || !isJsonObject(capabilities["extensions"])) return message;
  const { extensions, ...declared } = capabilities;
  const { [extensionId]: _, ...others } = extensions as Record<string, unknown>;
  const kept = Object.keys(others).length === 0 ? declared : { ...declared, extensions: others };
  return { ...message, params: { ...message.params, capabilities: kept } };
}
