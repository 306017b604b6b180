import { InMemoryTransport, McpServer, type JSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text, withTasks } from "../kit/messages.ts";

/** One connection for many requests, as over stdio; `next` resolves with the next message of the server. */
async function connect(register: (tasks: Tasks) => void): Promise<{
  send: (id: string | number, tool: string, capabilities?: object) => Promise<void>;
  cancel: (id: string | number) => Promise<void>;
  next: () => Promise<JSONRPCMessage>;
}> {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  register(tasks);
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  await server.start();
  const [near, far] = InMemoryTransport.createLinkedPair();
  const served = serveStdio((context) => server.create(context, { principal: "local" }), { transport: far });
  onTestFinished(async () => {
    await served.close();
    await server.stop();
  });

  const received: JSONRPCMessage[] = [];
  let wake = (): void => undefined;
  near.onmessage = (message) => {
    received.push(message);
    wake();
  };
  await near.start();
  return {
    send: (id, tool, capabilities = withTasks) =>
      near.send({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: tool, _meta: envelope(capabilities) },
      }),
    cancel: (requestId) =>
      near.send({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId, _meta: envelope({}) },
      }),
    async next() {
      while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return received.shift() as JSONRPCMessage;
    },
  };
}

const envelope = (capabilities: object): Record<string, unknown> => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

it('keeps requests apart that run at the same time, 1 and "1" too', async () => {
  const gate = Promise.withResolvers<void>();
  const connection = await connect((tasks) => {
    tasks.tool("first", { task: "forbidden" }, async () => (await gate.promise, text("first")));
    tasks.tool("second", { task: "forbidden" }, () => text("second"));
    tasks.tool("third", {}, () => text("third"));
  });
  await connection.send(1, "first");
  await connection.send("1", "second");
  expect(await connection.next()).toMatchObject({ id: "1", result: text("second") });
  await connection.send(2, "third");
  expect(await connection.next()).toMatchObject({ id: 2, result: { resultType: "task" } });
  gate.resolve();
  expect(await connection.next()).toMatchObject({ id: 1, result: text("first") });
});

it("decides for each request of the connection by its own declaration [X-006 X-009 X-B-003]", async () => {
  const connection = await connect((tasks) => tasks.tool("long", { task: "required" }, () => text("long")));
  await connection.send(1, "long");
  expect(await connection.next()).toMatchObject({ id: 1, result: { resultType: "task" } });
  await connection.send(2, "long", {});
  expect(await connection.next()).toMatchObject({ id: 2, error: { code: -32021 } });
});

it("aborts the handler of a cancelled request, and does not mistake a later request for it [X-B-017]", async () => {
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const connection = await connect((tasks) => {
    tasks.tool("waits", { task: "forbidden" }, async (_, task) => {
      started.resolve();
      await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
      aborted.resolve();
      return text("too late");
    });
    tasks.tool("quick", { task: "forbidden" }, () => text("quick"));
  });
  await connection.send(1, "waits");
  await started.promise;
  await connection.cancel(1);
  await aborted.promise;
  await connection.send(1, "quick");
  expect(await connection.next()).toMatchObject({ id: 1, result: text("quick") });
});
