import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { watchedStore } from "../runtime/watched-store.ts";
import { text, withTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

it.each([{}, { "holdfast/idempotencyKey": "k".repeat(22) }])(
  "begins nothing for a caller that left while it was being prepared, and reports nothing [A-32] %o",
  async (meta) => {
    const preparing = Promise.withResolvers<AbortSignal>();
    const gate = Promise.withResolvers<void>();
    const calls: string[] = [];
    const store = watchedStore(memoryStore(), (call) => void calls.push(call));
    const prepare = async (_: unknown, ask: { signal: AbortSignal }): Promise<void> => {
      preparing.resolve(ask.signal);
      await gate.promise;
    };
    const tools = (tasks: Tasks): void => void tasks.tool("slow", { prepare }, () => text("never"));
    const { http, errors } = await serve({ tools, options: { store } });
    const caller = new AbortController();
    const answered = new StatelessClient(http.url).call("slow", {}, { meta, signal: caller.signal });
    const signal = await preparing.promise;
    const left = new Promise((resolve) => signal.addEventListener("abort", resolve));
    caller.abort();
    await expect(answered).rejects.toThrow();
    await left;
    gate.resolve();
    await rest();
    expect(calls).not.toContain("create");
    expect(errors).toEqual([]);
  },
);

it("does not begin a request that was cancelled before its turn came", async () => {
  let runs = 0;
  const calls: string[] = [];
  const store = watchedStore(memoryStore(), (call) => void calls.push(call));
  const errors: unknown[] = [];
  const tasks = createTasks({ store, onError: (error) => errors.push(error) });
  tasks.tool("counts", {}, () => text(String(++runs)));
  await tasks.start();
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  const served = serveStdio((context) => server.create(context, { principal: null }), { transport: far });
  onTestFinished(async () => {
    await served.close();
    await tasks.stop();
  });
  const received: unknown[] = [];
  near.onmessage = (message) => void received.push(message);
  await near.start();
  const envelope = (capabilities: object) => ({
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  });
  for (const [id, capabilities] of [withTasks, {}].entries()) {
    const params = { name: "counts", _meta: envelope(capabilities) };
    const sent = near.send({ jsonrpc: "2.0", id, method: "tools/call", params });
    const cancelled = { requestId: id, _meta: envelope({}) };
    await near.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancelled });
    await sent;
  }
  await rest();
  expect([runs, received, errors]).toEqual([0, [], []]);
  expect(calls).not.toContain("create");
});
