import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { isJSONRPCRequest, isJSONRPCResponse, isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Reply } from "../reply/reply.ts";
import { paramHeaders, readParamHeaders, type ParamHeader } from "./param-headers.ts";

/** The error code for wrong headers. The server has not processed the call. */
export const headerMismatchCode = -32020;

/** A limit for servers whose cursors never end. */
const maxPages = 1_000;

/**
 * The arguments that tools want repeated in headers, learnt from every tool list on this connection. A call of an
 * unlisted tool is sent without headers; the server refuses it if it wants some.
 */
export class ToolHeaders {
  readonly #wanted = new Map<string, readonly ParamHeader[]>();
  /** Ids of the SDK client's `tools/list` requests. */
  readonly #asked = new Set<RequestId>();

  of(tool: string, args: unknown): Record<string, string> {
    return paramHeaders(this.#wanted.get(tool) ?? [], args);
  }

  /** Observes the messages of the SDK's client. */
  sent(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method === "tools/list") this.#asked.add(message.id);
  }

  /** Observes the messages for the SDK's client. */
  received(message: JSONRPCMessage): void {
    if (!isJSONRPCResponse(message) || message.id === undefined || !this.#asked.delete(message.id)) return;
    if (isJSONRPCResultResponse(message)) this.#learn(message.result);
  }

  /** Lists the tools again. If that fails, the known headers stay. */
  async refresh(list: (params: JsonObject) => Promise<Reply<JsonObject>>): Promise<void> {
    let cursor: string | undefined;
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await list(cursor === undefined ? {} : { cursor });
      if (page.kind !== "value") return;
      this.#learn(page.value);
      const { nextCursor } = page.value;
      if (typeof nextCursor !== "string" || nextCursor === cursor) return;
      cursor = nextCursor;
    }
  }

  #learn({ tools }: JsonObject): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools.filter(isJsonObject)) {
      this.#wanted.set(String(tool["name"]), readParamHeaders(tool["inputSchema"]) ?? []);
    }
  }
}
