import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { jsonRpcCodeOf } from "../../task/fault.ts";
import { Exchanges } from "../exchanges.ts";

/**
 * Exchanges of a connection whose calls may ask for a task. Arguments that do not fit are a result with `isError` to
 * the SDK. Who asked for a task expects one or an error, and can read nothing else (C-022, C-024).
 */
export class TaskCalls extends Exchanges {
  readonly #hasTasks: () => boolean;

  constructor(hasTasks: () => boolean) {
    super();
    this.#hasTasks = hasTasks;
  }

  override resolve(message: JSONRPCMessage): JSONRPCMessage {
    if (!("result" in message)) return super.resolve(message);
    const { id, result } = message;
    const asked = this.#hasTasks() ? this.params(id)?.["task"] : undefined;
    const resolved = super.resolve(message);
    if (asked === undefined || resolved !== message) return resolved;
    return { jsonrpc: "2.0", id, error: { code: jsonRpcCodeOf("invalid_params"), message: textOf(result) } };
  }
}

function textOf({ content }: JsonObject): string {
  const [first] = Array.isArray(content) ? (content as unknown[]) : [];
  const text = isJsonObject(first) ? first["text"] : undefined;
  return typeof text === "string" ? text : "The call was refused.";
}
