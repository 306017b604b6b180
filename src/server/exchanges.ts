import {
  SERVER_INFO_META_KEY,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../generation/json-object.ts";
import type { Answer } from "./answer.ts";

type RequestId = string | number;

interface Exchange {
  /** As the requestor sent them; handlers of the SDK see them validated, transformed and without `_meta`. */
  readonly params: JsonObject;
  answer?: Answer;
}

/**
 * The requests of one connection that the SDK is answering in our name. The SDK cannot carry a task as the result
 * of a tool, nor a JSON-RPC error, so its handlers answer with a placeholder, and the real answer waits here
 * under the request's id until the placeholder is sent. Nothing of it is in the message itself, so nothing
 * that a tool puts into its own result can imitate it.
 */
export class Exchanges {
  /** By JSON-RPC id; 1 and "1" are two ids, as they are two keys of a Map. */
  readonly #open = new Map<RequestId, Exchange>();

  begin(id: RequestId, params: JsonObject): void {
    this.#open.set(id, { params });
  }

  params(id: RequestId): JsonObject | undefined {
    return this.#open.get(id)?.params;
  }

  /** Does nothing once the request was cancelled or its connection closed. */
  answer(id: RequestId, answer: Answer): void {
    const exchange = this.#open.get(id);
    if (exchange !== undefined) exchange.answer = answer;
  }

  forget(id: RequestId): void {
    this.#open.delete(id);
  }

  close(): void {
    this.#open.clear();
  }

  /** The message to send instead of `message`; ends the exchange that it answers. */
  resolve(message: JSONRPCMessage): JSONRPCMessage {
    if ("method" in message || message.id === undefined) return message;
    const { id } = message;
    const answer = this.#open.get(id)?.answer;
    this.#open.delete(id);
    if (answer === undefined) return message;
    if ("error" in answer) return { jsonrpc: "2.0", id, error: answer.error };
    return { jsonrpc: "2.0", id, result: stamped(answer.result, message) };
  }
}

/** The SDK names the server in each result; the placeholder brings that stamp along. */
function stamped(result: JsonObject, placeholder: JSONRPCMessage): JSONRPCResultResponse["result"] {
  const serverInfo = "result" in placeholder ? placeholder.result._meta?.[SERVER_INFO_META_KEY] : undefined;
  const meta = result["_meta"] ?? {};
  if (serverInfo === undefined || !isJsonObject(meta)) return result;
  return { ...result, _meta: { [SERVER_INFO_META_KEY]: serverInfo, ...meta } };
}
