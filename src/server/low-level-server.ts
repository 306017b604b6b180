import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type RequestId,
  type Server,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import { askServer } from "./ask-server.ts";

const listMethod = "tools/list";

/**
 * An author's low-level server in the form of an `McpServer`. It answers lists of tools itself, so ours are registered on a second server,
 * and added to its last page. `onTaken` is called with names of our tools that it also lists.
 */
export class LowLevelServer extends McpServer {
  override readonly server: Server;
  /** Never connected to a client. */
  readonly ours = new McpServer({ name: "holdfast", version: "0" });
  readonly #onTaken: (name: string) => void;
  /** The latest list request: the second server answers one at a time. */
  #listed: Promise<unknown> = Promise.resolve();

  constructor(server: Server, onTaken: (name: string) => void) {
    super({ name: "", version: "" });
    this.server = server;
    this.#onTaken = onTaken;
    // Ours come and go.
    server.registerCapabilities({ tools: { listChanged: true } });
    declareTools(server);
  }

  override async connect(wire: Transport): Promise<void> {
    const lists = new Set<RequestId>();
    const send = wire.send.bind(wire);
    wire.send = async (message: JSONRPCMessage, options?: TransportSendOptions) => {
      if ("method" in message || message.id === undefined || !lists.delete(message.id))
        return send(message, options);
      if (!isJSONRPCResultResponse(message)) return send(message, options);
      return send({ ...message, result: await this.#withOurs(message.result) }, options);
    };
    await super.connect(wire);
    const { onmessage } = wire;
    wire.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      if (isJSONRPCRequest(message) && message.method === listMethod) lists.add(message.id);
      if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
        const id = message.params?.["requestId"];
        if (typeof id === "string" || typeof id === "number") lists.delete(id);
      }
      onmessage?.(message, extra);
    };
  }

  async #withOurs(page: JsonObject): Promise<JsonObject> {
    const { tools, nextCursor } = page;
    const ours = await this.#ours();
    const names = new Set(ours.map(({ name }) => name));
    const listed: unknown[] = Array.isArray(tools) ? tools : [];
    const theirs = listed.filter((tool) => !this.#isTaken(tool, names));
    return { ...page, tools: nextCursor === undefined ? [...theirs, ...ours] : theirs };
  }

  /** Calls with the name come to us. */
  #isTaken(tool: unknown, names: ReadonlySet<unknown>): boolean {
    if (!isJsonObject(tool) || !names.has(tool["name"])) return false;
    this.#onTaken(String(tool["name"]));
    return true;
  }

  async #ours(): Promise<readonly JsonObject[]> {
    const listed = this.#listed.then(() => askServer(this.ours, listMethod));
    this.#listed = listed.catch(() => undefined);
    const result = await listed;
    const tools = isJsonObject(result) ? result["tools"] : undefined;
    return Array.isArray(tools) ? tools.filter((tool: unknown) => isJsonObject(tool)) : [];
  }
}

/** A server without tools of its own has ours. */
function declareTools(server: Server): void {
  const isFree = (method: string): boolean => {
    try {
      server.assertCanSetRequestHandler(method);
      return true;
    } catch {
      return false;
    }
  };
  if (isFree(listMethod)) server.setRequestHandler(listMethod, () => ({ tools: [] }));
  if (!isFree("tools/call")) return;
  server.setRequestHandler("tools/call", ({ params }) => {
    // As the SDK's McpServer says it.
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${params.name} not found`);
  });
}
