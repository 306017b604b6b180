import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TasksOptions } from "holdfast";
import {
  connect,
  memoryHandles,
  type HandleStore,
  type StoredCall,
  type ProtocolVersion,
  type TaskClient,
  type TaskClientError,
} from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { storedCall } from "./calls.ts";

/** A real server whose tool notes each run. */
async function serve(options: Partial<TasksOptions> = {}): Promise<{ url: string; runs: string[] }> {
  const runs: string[] = [];
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 1, stopDeadlineMs: 1, ...options });
  tasks.tool("publish_report", { inputSchema: z.object({ month: z.string() }) }, async ({ month }) => {
    runs.push(month);
    return { content: [{ type: "text", text: `sent ${month}` }] };
  });
  const makeServer = (): McpServer => {
    const server = new McpServer({ name: "office", version: "1.0.0" });
    server.registerTool("greet", { inputSchema: z.object({}) }, async () => {
      runs.push("greet");
      return { content: [{ type: "text", text: "hello" }] };
    });
    return server;
  };
  const http = await serveHttp(tasks.server(makeServer), { port: 0 });
  onTestFinished(async () => http.close());
  return { url: http.url, runs };
}

async function connectTo(
  url: string,
  protocolVersion: ProtocolVersion,
  handles?: HandleStore,
): Promise<TaskClient> {
  const client = await connect(url, { protocolVersion, pollFloorMs: 1, ...(handles && { handles }) });
  onTestFinished(async () => client.close());
  return client;
}

describe.each(["2026-07-28", "2025-11-25"] as const)("a call without an answer, in %s", (generation) => {
  const key = "a-key-that-nobody-can-guess";
  const content = [{ type: "text", text: "sent 2026-10" }];

  async function leave(
    url: string,
    tool = "publish_report",
    more: Partial<StoredCall> = {},
  ): Promise<HandleStore> {
    const handles = memoryHandles();
    const args = tool === "greet" ? {} : { month: "2026-10" };
    await handles.keep(
      storedCall({ key, server: url, generation, tool, args, startedAt: Date.now(), ...more }),
    );
    return handles;
  }

  it("finds the task that it made [A-48]", async () => {
    const { url, runs } = await serve();
    const first = await connectTo(url, generation);
    const { reference } = await first.startTool(
      "publish_report",
      { month: "2026-10" },
      { idempotencyKey: key },
    );
    const client = await connectTo(url, generation, await leave(url));
    const [call] = await client.pending();
    const handle = await call?.take();
    expect(handle?.reference).toEqual(reference);
    expect(await handle?.result()).toMatchObject({ content });
    expect(runs).toEqual(["2026-10"]);
    expect(await client.pending()).toEqual([]);
  });

  it.each(generation === "2025-11-25" ? (["the server", "the call"] as const) : (["the server"] as const))(
    "is not made twice where the server forgot it sooner, by the ttl of %s [A-48]",
    async (whose) => {
      const ttl = { ttlMs: 1_500 };
      const own = whose === "the call" ? ttl : {};
      const { url, runs } = await serve(whose === "the call" ? {} : ttl);
      const first = await connectTo(url, generation);
      const handles = await leave(url, "publish_report", own);
      const call = { idempotencyKey: key, ...own };
      const made = await first.startTool("publish_report", { month: "2026-10" }, call);
      await made.result();
      await expect
        .poll(async () => made.get().catch(({ code }: TaskClientError) => code), { timeout: 60_000 })
        .toBe("expired");
      const client = await connectTo(url, generation, handles);
      const [pending] = await client.pending();
      await expect(pending?.take()).rejects.toMatchObject({ code: "connection" });
      expect(runs).toEqual(["2026-10"]);
      expect(await client.pending()).toHaveLength(1);
    },
  );

  it("makes its task, if it never arrived", async () => {
    const { url, runs } = await serve();
    const client = await connectTo(url, generation, await leave(url));
    const [call] = await client.pending();
    expect(await (await call?.take())?.result()).toMatchObject({ content });
    expect(runs).toEqual(["2026-10"]);
    expect(await client.pending()).toEqual([]);
  });

  it("is not made twice where its tool makes no task", async () => {
    const { url, runs } = await serve();
    const client = await connectTo(url, generation, await leave(url, "greet"));
    const [call] = await client.pending();
    await expect(call?.take()).rejects.toMatchObject({ code: "connection" });
    expect(runs).toEqual([]);
    expect(await client.pending()).toEqual([]);
  });
});
