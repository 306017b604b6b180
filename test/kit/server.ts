import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks, type TasksOptions, type TaskServer } from "holdfast";
import { serveHttp, type HttpOptions, type HttpServer } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { onTestFinished } from "vitest";

/** Tasks whose errors are collected, on a store in memory, and the server "reports" with them and the author's own features. */
export function testServer(
  tools: (tasks: Tasks) => void,
  options: Partial<TasksOptions> = {},
  own?: (mcp: McpServer) => void,
): StartedServer {
  const errors: unknown[] = [];
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100, // the end of a test does not wait for its handlers
    onError: (error) => errors.push(error),
    ...options,
  });
  tools(tasks);
  const server = tasks.server(() => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    own?.(mcp);
    return mcp;
  });
  return { server, tasks, errors };
}

/** Tests poll as fast as they can, and the machine may be busy with other things. */
export const noRateLimits = { pollsPerInterval: null, maxLoopDelayMs: null };

export interface StartedServer {
  readonly server: TaskServer;
  readonly tasks: Tasks;
  readonly errors: unknown[];
}

/** A server without a transport, stopped when the test ends. */
export async function startServer(...setup: Parameters<typeof testServer>): Promise<StartedServer> {
  const started = testServer(...setup);
  await started.server.start();
  onTestFinished(() => started.server.stop());
  return started;
}

export interface Setup {
  readonly tools: (tasks: Tasks) => void;
  /** The author's own tools, resources and prompts. */
  readonly server?: (mcp: McpServer) => void;
  readonly http?: HttpOptions;
  readonly options?: Partial<TasksOptions>;
}

export interface Served {
  readonly http: HttpServer;
  readonly tasks: Tasks;
  readonly errors: unknown[];
}

/** A server on a free port of this machine, closed when the test ends. */
export async function serve({ tools, server: own, http, options }: Setup): Promise<Served> {
  const { server, tasks, errors } = testServer(tools, { rates: noRateLimits, ...options }, own);
  // A busy machine may hold a client up for longer than the default, and it would send on a connection that is being closed.
  const served = await serveHttp(server, { port: 0, keepAliveTimeoutMs: 60_000, ...http });
  onTestFinished(() => served.close());
  return { http: served, tasks, errors };
}
