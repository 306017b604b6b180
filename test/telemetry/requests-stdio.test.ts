import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text, withTasks } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { authorsOwn } from "../server/session-server.ts";
import { caller, callerSpan, callerTrace, RecordedSpans } from "./recorded-spans.ts";

async function piped(): Promise<{ pipe: StdioClient; spans: RecordedSpans }> {
  const spans = new RecordedSpans();
  const tasks = createTasks({
    store: memoryStore(),
    telemetry: spans.telemetry,
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null },
  });
  tasks.tool("ship", {}, () => text("shipped"));
  tasks.tool("add", { task: "forbidden" }, () => text("42"));
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(
    tasks.server(() => {
      const mcp = new McpServer({ name: "reports", version: "1.2.3" });
      authorsOwn(mcp);
      return mcp;
    }),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  return { pipe: new StdioClient(stdin, stdout), spans };
}

/** The `_meta` of a request of 2026-07-28 in the trace of its caller. */
const traced = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": withTasks,
  ...caller,
};

it("traces requests of 2026-07-28 on a pipe, also those that the author's server answers", async () => {
  const { pipe, spans } = await piped();
  const { taskId } = await pipe.request("tools/call", { name: "ship", _meta: traced });
  await spans.ended("execute_tool ship");
  await pipe.request("tasks/get", { taskId });
  await pipe.request("tools/call", { name: "add", _meta: traced });
  await pipe.request("tools/call", { name: "echo", arguments: { say: "a" }, _meta: traced });
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call ship",
    "  execute_tool ship: settled",
    "  tasks/get",
    "tools/call add",
    "  execute_tool add: settled",
    "tools/call echo",
  ]);
  expect(spans.named("tools/call add")[0]?.attributes).toMatchObject({
    "mcp.protocol.version": "2026-07-28",
    "network.transport": "pipe",
  });
});

it("traces a session on a pipe", async () => {
  const { pipe, spans } = await piped();
  const next = async (id: number): Promise<unknown> => {
    for (let message = await pipe.next(); message !== undefined; message = await pipe.next())
      if (message["id"] === id) return message["result"];
    throw new Error("There was no answer.");
  };
  const clientInfo = { name: "desk", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  pipe.write({ id: 1, method: "initialize", params });
  await next(1);
  pipe.write({ method: "notifications/initialized" });
  pipe.write({ id: 2, method: "tools/call", params: { name: "ship", task: {}, _meta: caller } });
  const { taskId } = ((await next(2)) as { task: { taskId: string } }).task;
  pipe.write({ id: 3, method: "tasks/result", params: { taskId } });
  await next(3);
  pipe.write({ id: 4, method: "tools/list", params: { _meta: caller } });
  await next(4);
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call ship",
    "  execute_tool ship: settled",
    "  tasks/result",
    "tools/list",
  ]);
  expect(spans.named("tasks/result")[0]?.attributes).toMatchObject({
    "mcp.protocol.version": "2025-11-25",
    "network.transport": "pipe",
  });
});
