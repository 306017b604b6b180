import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { isJSONRPCRequest, isJSONRPCResponse, isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import { paramHeaders, readParamHeaders, type ParamHeader } from "./param-headers.ts";

/** What a server answers whose tool wants other headers than a call had: it has not looked at the call. */
export const headerMismatchCode = -32020;

/** A server whose cursors lead nowhere new would be listed for ever. */
const mostPages = 1_000;

/**
 * Which arguments the tools of a server want in headers, as far as they were listed on this connection, by
 * whomever. A call of a tool that was not listed goes out without: the server refuses it if it wants some.
 */
export class ToolHeaders {
  readonly #wanted = new Map<string, readonly ParamHeader[]>();
  /** The requests of the SDK's client for lists. */
  readonly #asked = new Set<RequestId>();

  of(tool: string, args: unknown): Record<string, string> {
    return paramHeaders(this.#wanted.get(tool) ?? [], args);
  }

  /** Takes note of what the SDK's client sends. */
  sent(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method === "tools/list") this.#asked.add(message.id);
  }

  /** Takes note of what it is given. */
  received(message: JSONRPCMessage): void {
    if (!isJSONRPCResponse(message) || message.id === undefined || !this.#asked.delete(message.id)) return;
    if (isJSONRPCResultResponse(message)) this.#learn(message.result);
  }

  /** Lists the tools. One that cannot be listed is called as before. */
  async refresh(list: (params: JsonObject) => Promise<Reply<JsonObject>>): Promise<void> {
    let cursor: string | undefined;
    for (let pages = 0; pages < mostPages; pages++) {
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
