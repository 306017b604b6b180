import { fileURLToPath } from "node:url";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks, type TasksOptions } from "holdfast";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { serveHttp, type HttpOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { onTestFinished, vi } from "vitest";
import { serveTools, type ServedTools } from "../../../src/serve/serve-tools.ts";
import type { ToolSource } from "../../../src/serve/source.ts";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import type { McpUpstreamOptions } from "../../../src/serve/mcp/mcp-options.ts";
import { compileCache } from "../../compile-cache.ts";

/** The server that the protocol's makers publish, as a process of the gateway. */
export function everythingUpstream(options: McpUpstreamOptions = {}): ToolSource {
  const script = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
  return mcpUpstream("everything", {
    command: process.execPath,
    args: [script, "stdio"],
    env: compileCache,
    ...options,
  });
}

export interface Gateway {
  readonly url: string;
  readonly tasks: Tasks;
  readonly errors: unknown[];
  /** Serves these sources instead, as a reload does. */
  readonly replace: ServedTools["replace"];
  /** Ends it as a deploy does; also done when the test ends. */
  close(): Promise<void>;
}

/** Serves the sources over HTTP, in this process. */
export async function gateway(
  sources: readonly ToolSource[],
  options: Partial<TasksOptions> = {},
  http: Partial<HttpOptions> = { anonymous: "shared" },
): Promise<Gateway> {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50, onError, ...options });
  const served = await serveTools(tasks, sources, { onError });
  const server = await serveHttp(
    tasks.server(async (context) => {
      const made = new McpServer({ name: "gateway", version: "1.0.0" });
      await served.attach(made, context);
      return made;
    }),
    { port: 0, ...http },
  );
  served.tell(server.notify);
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closed ??= server.close().then(() => served.close());
    await closed;
  };
  onTestFinished(close);
  return { url: server.url, tasks, errors, replace: (next) => served.replace(next), close };
}

export async function clientOf(
  { url }: Pick<Gateway, "url">,
  options: ConnectOptions = {},
): Promise<TaskClient> {
  const client = await connect(url, options);
  onTestFinished(() => client.close());
  return client;
}

/** A client that knows nothing of tasks. */
export async function plainClientOf({ url }: Pick<Gateway, "url">): Promise<ClientV1> {
  const client = new ClientV1({ name: "plain", version: "1.0.0" });
  const transport: object = new HttpV1(new URL(url));
  await client.connect(transport as Transport); // the SDK's own types disagree on what may be undefined
  onTestFinished(() => client.close());
  return client;
}

/** Waits until it is so, on a busy machine too. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(isSo, { timeout: 20_000 });
}
