import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** Gives clients of a server with a durable tool, and one that is the SDK's, which count their calls. */
async function counting() {
  const calls = { durable: 0, plain: 0 };
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("durable", { onCrash: "resume" }, async () => text(`call ${++calls.durable}`));
  const http = await serveHttp(
    tasks.server(() => {
      const server = new McpServer({ name: "counting", version: "1.0.0" });
      server.registerTool("plain", {}, async () => text(`call ${++calls.plain}`));
      return server;
    }),
    { port: 0, anonymous: "shared" },
  );
  onTestFinished(() => http.close());
  const client = async (options: ConnectOptions): Promise<TaskClient> => {
    const connected = await connect(http.url, options);
    onTestFinished(() => connected.close());
    return connected;
  };
  return { calls, client };
}

it.each(["2026-07-28", "2025-11-25", "2025-06-18"] as const)(
  "finds the task of a call whose answer another process has lost, with %s",
  async (protocolVersion) => {
    const { calls, client } = await counting();
    const idempotencyKey = crypto.randomUUID();
    const sentAt = Date.now();
    const first = await (await client({ protocolVersion })).startTool("durable", {}, { idempotencyKey });
    await first.result();
    const again = await (
      await client({ protocolVersion })
    ).startTool("durable", {}, { idempotencyKey, sentAt });
    expect(await again.result()).toMatchObject(text("call 1"));
    expect(calls.durable).toBe(1);
  },
);

it("does not run a tool twice that makes no task", async () => {
  const { calls, client } = await counting();
  const idempotencyKey = crypto.randomUUID();
  const sentAt = Date.now();
  const connected = await client({});
  await connected.startTool("plain", {}, { idempotencyKey });
  const again = connected.startTool("plain", {}, { idempotencyKey, sentAt });
  await expect(again).rejects.toMatchObject({ code: "connection" });
  expect(calls.plain).toBe(1);
});
