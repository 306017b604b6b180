import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio, type StdioServer } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text, withTasks } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";

/** An author's server with something of its own to close. */
class ReportsServer extends McpServer {
  readonly #closed: string[];

  constructor(closed: string[]) {
    super({ name: "reports", version: "1" });
    this.#closed = closed;
  }

  override async close(): Promise<void> {
    this.#closed.push("database");
    await super.close();
  }
}

async function piped(encoding?: BufferEncoding): Promise<{
  pipe: StdioClient;
  server: StdioServer;
  errors: unknown[];
  closed: string[];
}> {
  const [errors, closed]: [unknown[], string[]] = [[], []];
  const onError = (error: unknown): void => void errors.push(error);
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, onError });
  tasks.tool("report", {}, () => text("report"));
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  if (encoding !== undefined) stdin.setEncoding(encoding);
  const server = await serveStdio(
    tasks.server(() => new ReportsServer(closed)),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  return { pipe: new StdioClient(stdin, stdout), server, errors, closed };
}

const clientInfo = { name: "old", version: "1" };
const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };

it.each([
  ["that is probed", "server/discover"],
  ["of 2026-07-28", "tools/list"],
  ["of an earlier revision", "initialize"],
])("closes an author's server %s, whose class has private fields", async (_, method) => {
  const { pipe, server, errors, closed } = await piped();
  if (method === "initialize") pipe.write({ id: 1, method, params: initialize });
  else pipe.send(1, method);
  expect(await pipe.next()).toMatchObject({ id: 1, result: {} });
  await server.close();
  expect({ closed, errors }).toEqual({ closed: ["database"], errors: [] });
});

it("reads a stdin that gives texts, since something has set its encoding", async () => {
  const { pipe, errors } = await piped("utf8");
  pipe.send("\u00e9", "tools/list");
  expect(await pipe.next()).toMatchObject({ id: "\u00e9", result: {} });
  expect(errors).toEqual([]);
});

it("answers requests of ours with something in them that only the SDK can judge, as it judges them", async () => {
  const { pipe, errors } = await piped();
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": withTasks,
  };
  const related = { ...meta, "io.modelcontextprotocol/related-task": { taskId: "none" } };
  pipe.send(1, "tools/list");
  await pipe.next();
  pipe.send(2, "tools/call", { name: "report", _meta: related });
  expect(await pipe.next()).toMatchObject({ id: 2, result: { resultType: "task" } });
  pipe.send(3, "tasks/get", { taskId: "none", _meta: related });
  expect(await pipe.next()).toMatchObject({
    id: 3,
    error: { code: -32602, message: expect.stringContaining("Unknown") as unknown },
  });
  pipe.send(4, "tools/call", { name: "report", arguments: null });
  expect(await pipe.next()).toMatchObject({ id: 4, error: { code: -32602 } });
  pipe.write({ id: 5, method: "tasks/get", params: { taskId: "none" } });
  expect(await pipe.next()).toMatchObject({
    id: 5,
    error: { code: -32602, message: expect.stringContaining("envelope") as unknown },
  });
  expect(errors).toEqual([]);
});

it("answers a request with any id, also one like those of our own", async () => {
  const { pipe } = await piped();
  pipe.send("holdfast-identity", "tools/list");
  expect(await pipe.next()).toMatchObject({
    id: "holdfast-identity",
    result: { tools: [{ name: "report" }] },
  });
});
