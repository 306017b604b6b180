import { PassThrough } from "node:stream";
import type { McpServer, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTasks, type ServerFactory, type Tasks } from "holdfast";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { serveHttp, type HttpOptions, type HttpServer } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, onTestFinished } from "vitest";
import * as z from "zod";

/** The revisions in which clients of today speak to servers: without sessions, and with them. */
export const revisions = ["2026-07-28", "2025-11-25"] as const;
export type Revision = (typeof revisions)[number];

type AnyFactory = ServerFactory<McpServer | Server>;

/** A server of an author's with a durable tool beside it, over HTTP on this machine. */
export interface Served {
  readonly http: HttpServer;
  readonly errors: unknown[];
  /** A client of ours; both end with the test. */
  connect(protocolVersion: Revision, options?: ConnectOptions): Promise<TaskClient>;
}

export async function serveBeside(
  factory: AnyFactory,
  http: HttpOptions = {},
  addTools: (tasks: Tasks) => void = () => undefined,
): Promise<Served> {
  const errors: unknown[] = [];
  const tasks = tasksWithReport((error) => errors.push(error));
  addTools(tasks);
  const served = await serveHttp(tasks.server(factory), { port: 0, ...http });
  onTestFinished(() => served.close());
  return {
    http: served,
    errors,
    connect: (protocolVersion, options) => connected(served.url, { protocolVersion, ...options }),
  };
}

/** A client at the other end of a pipe to such a server. */
export async function pipeBeside(factory: AnyFactory, options: ConnectOptions = {}): Promise<TaskClient> {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const tasks = tasksWithReport();
  const served = await serveStdio(tasks.server(factory), { stdin: there, stdout: back });
  onTestFinished(() => served.close());
  return connected(new StdioServerTransport(back, there), options);
}

/** The durable tool that has to work beside everything else. */
export function tasksWithReport(onError?: (error: unknown) => void): Tasks {
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    pollIntervalMs: 1,
    plain: "wait", // polling tools would be listed, too
    ...(onError && { onError }),
  });
  const config = { description: "Makes a report", inputSchema: z.object({ month: z.string() }) };
  tasks.tool("report", config, async ({ month }, task) => {
    const rows = await task.step("count", () => 42);
    return { content: [{ type: "text", text: `${month}: ${rows} rows` }] };
  });
  return tasks;
}

export async function connected(
  target: Parameters<typeof connect>[0],
  options: ConnectOptions = {},
): Promise<TaskClient> {
  const client = await connect(target, { pollFloorMs: 1, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** The durable tool is listed, and runs as a task. */
export async function expectReport(client: TaskClient): Promise<void> {
  const { tools } = await client.sdk.listTools();
  expect(tools.map(({ name }) => name)).toContain("report");
  const handle = await client.startTool("report", { month: "2026-10" });
  expect(handle.reference).toMatchObject({ taskId: expect.any(String) as unknown });
  expect(await handle.result()).toMatchObject(text("2026-10: 42 rows"));
}

export function text(value: string): { content: [{ type: "text"; text: string }] } {
  return { content: [{ type: "text", text: value }] };
}
