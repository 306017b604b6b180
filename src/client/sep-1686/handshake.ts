import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { clientTasksCapability } from "../../generation/sep-1686.ts";

/**
 * A server's answer to the handshake in a form that the SDK's client accepts: the SDK rejects booleans where
 * 2025-11-25 has objects, and SEP-1686 has booleans (S-003). They are moved from `requests` to its parent.
 */
export function readableHandshake(message: JSONRPCMessage): JSONRPCMessage {
  if (!isJSONRPCResultResponse(message)) return message;
  const { capabilities, protocolVersion } = message.result;
  if (typeof protocolVersion !== "string" || !isJsonObject(capabilities)) return message;
  const { tasks } = capabilities;
  if (!isJsonObject(tasks)) return message;
  const { requests, ...others } = tasks;
  if (!isJsonObject(requests) || !hasBooleans(requests)) return message;
  const declared = { ...capabilities, tasks: { ...others, ...requests } };
  return { ...message, result: { ...message.result, capabilities: declared } };
}

function hasBooleans(requests: JsonObject): boolean {
  return Object.values(requests).some(
    (category) => isJsonObject(category) && Object.values(category).some((each) => typeof each === "boolean"),
  );
}

/**
 * Declares the requests that a client with these capabilities runs as tasks, in booleans that the SDK's server
 * accepts (S-003).
 */
export function tasksCapability({ elicitation, sampling }: JsonObject): object {
  return clientTasksCapability([
    ...(elicitation === undefined ? [] : (["elicitation/create"] as const)),
    ...(sampling === undefined ? [] : (["sampling/createMessage"] as const)),
  ]);
}
