import type { McpRequestContext, McpServer } from "@modelcontextprotocol/server";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import type { OnError } from "./answer.ts";
import { attach } from "./attach.ts";

/** Makes an author's own server; called per request over HTTP, per connection on stdio. */
export type ServerFactory = (context: McpRequestContext) => McpServer | Promise<McpServer>;

/** An author's servers with the task tools added: what `serveHttp` serves. */
export interface TaskServer {
  readonly options: RuntimeOptions;
  readonly onError: OnError;
  /** Recovers what an earlier process left, and begins to run tasks. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** A fresh server for one request or connection of `principal`; null where callers are not told apart. */
  create(context: McpRequestContext, principal: string | null): Promise<McpServer>;
}

export function createTaskServer(runtime: Runtime, factory: ServerFactory, onError: OnError): TaskServer {
  return {
    options: runtime.options,
    onError,
    start: () => runtime.start(),
    stop: () => runtime.stop(),
    async create(context, principal) {
      try {
        const mcp = await factory(context);
        if (context.era === "modern") attach(mcp, { runtime, principal, onError });
        return mcp;
      } catch (error) {
        onError(error); // the caller only hears of an internal error
        throw error;
      }
    },
  };
}
