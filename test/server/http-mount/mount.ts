import { createServer, type RequestListener, type Server } from "node:http";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks, type TasksOptions } from "holdfast";
import { createNodeHandler, type NodeHandler, type NodeHandlerOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { onTestFinished } from "vitest";
import { listen } from "../../../src/server/http/listen.ts";
import { text } from "../../kit/messages.ts";

export interface Mounting {
  readonly tools?: (tasks: Tasks) => void;
  readonly server?: (mcp: McpServer) => void;
  readonly options?: Partial<TasksOptions>;
  readonly http?: NodeHandlerOptions;
}

/** A handler whose tasks nobody has started, with a tool `bare`. */
export function handlerOf({ tools, server, options, http }: Mounting = {}): {
  readonly handler: NodeHandler;
  readonly tasks: Tasks;
  readonly errors: unknown[];
} {
  const errors: unknown[] = [];
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null },
    onError: (error) => errors.push(error),
    ...options,
  });
  tasks.tool("bare", {}, () => text("bare"));
  tools?.(tasks);
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    server?.(mcp);
    return mcp;
  };
  const handler = createNodeHandler(tasks.server(factory), http);
  onTestFinished(() => handler.close());
  return { handler, tasks, errors };
}

/** The origin of a server of ours with that listener, such as an Express application. */
export async function served(
  listener: RequestListener,
): Promise<{ readonly origin: string; readonly port: number; readonly node: Server }> {
  const node = createServer(listener);
  const port = await listen(node, "127.0.0.1", 0);
  onTestFinished(() => {
    node.close();
    node.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${port}`, port, node };
}
