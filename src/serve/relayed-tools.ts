import type {
  McpRequestContext,
  McpServer,
  RegisteredTool,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { definedOf } from "../options/options.ts";
import type { RelayedCall, SourceTool } from "./source.ts";

/** A tool whose calls another server answers while their callers wait. Its answers are passed on as they are, and so are its errors and questions. */
export type RelayedTool = SourceTool & Required<Pick<SourceTool, "relay">>;

export function isRelayed(tool: SourceTool): tool is RelayedTool {
  return tool.relay !== undefined;
}

/** A server for one client, and what it lists of ours. */
interface Listing {
  readonly tools: Map<string, { readonly tool: RelayedTool; readonly listed: RegisteredTool }>;
}

/** Relayed tools on the servers that are made for clients, beside those that are tasks. */
export class RelayedTools {
  readonly #tools: () => readonly RelayedTool[];
  readonly #onError: (error: unknown) => void;
  /** Servers of connections that last, which are told when tools change. */
  readonly #told = new Map<McpServer, Listing>();

  constructor(tools: () => readonly RelayedTool[], onError: (error: unknown) => void) {
    this.#tools = tools;
    this.#onError = onError;
  }

  attach(mcp: McpServer, { era, requestInfo }: McpRequestContext): void {
    const listing: Listing = { tools: new Map() };
    answerCalls(mcp, listing);
    this.#list(mcp, listing);
    if (era === "modern" && requestInfo !== undefined) return; // it serves one request
    this.#told.set(mcp, listing);
    const { onclose } = mcp.server;
    mcp.server.onclose = () => {
      onclose?.();
      this.#told.delete(mcp);
    };
  }

  /** Call it when the tools have changed. */
  changed(): void {
    for (const [mcp, listing] of this.#told) this.#list(mcp, listing);
  }

  #list(mcp: McpServer, { tools }: Listing): void {
    const wanted = this.#tools();
    for (const [name, { tool, listed }] of tools) {
      if (wanted.includes(tool)) continue;
      listed.remove();
      tools.delete(name);
    }
    for (const tool of wanted) {
      const { name, config, relay } = tool;
      if (tools.has(name)) continue;
      try {
        const listed = mcp.registerTool(
          name,
          definedOf(config as SourceTool["config"] & Schemas, shown),
          async (args: unknown, context: ServerContext) =>
            relay({ arguments: args as Record<string, unknown> }, context),
        );
        tools.set(name, { tool, listed });
      } catch (error) {
        this.#onError(error); // a tool of the author's server has the name
      }
    }
  }
}

/** What clients are shown of a tool. */
const shown = [
  "title",
  "description",
  "annotations",
  "icons",
  "_meta",
  "inputSchema",
  "outputSchema",
] as const;

interface Schemas {
  readonly inputSchema?: StandardSchemaWithJSON;
  readonly outputSchema?: StandardSchemaWithJSON;
}

/** Answers calls before the SDK's handler, which would make results of errors. */
function answerCalls({ server }: McpServer, { tools }: Listing): void {
  const set = server.setRequestHandler.bind(server) as (...given: unknown[]) => void;
  const intercepted = (method: string, ...given: unknown[]): void => {
    const handler = given.at(-1);
    if (method !== "tools/call" || typeof handler !== "function") {
      set(method, ...given);
      return;
    }
    const answer = async (request: { params: { name: string } & RelayedCall }, context: ServerContext) => {
      const own = tools.get(request.params.name);
      return own === undefined
        ? (handler as (...of: unknown[]) => unknown)(request, context)
        : own.tool.relay(request.params, context);
    };
    set(method, ...given.slice(0, -1), answer);
  };
  Object.defineProperty(server, "setRequestHandler", { configurable: true, value: intercepted });
}
