import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import type { ToolSource } from "../../../src/serve/source.ts";
import { clientOf, gateway, plainClientOf } from "./gateway.ts";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** A server with a tool of its name, whose calls are passed on. */
async function passedOn(name: string): Promise<ToolSource> {
  const tasks = createTasks({ store: memoryStore() });
  const server = await serveHttp(
    tasks.server(() => {
      const made = new McpServer({ name, version: "1.0.0" });
      made.registerTool(name, {}, () => text(name));
      return made;
    }),
    { port: 0, anonymous: "shared" },
  );
  onTestFinished(() => server.close());
  return mcpUpstream(name, { url: server.url, durable: false });
}

it(
  "lists tools that are passed on as they are now, also in sessions that are open",
  { timeout: 30_000 },
  async () => {
    const [one, two] = [await passedOn("one"), await passedOn("two")];
    const served = await gateway([one]);
    const session = await clientOf(served, { protocolVersion: "2025-11-25" });
    const plain = await plainClientOf(served);
    const names = async (): Promise<readonly (readonly string[])[]> => [
      (await session.listTools()).tools.map(({ name }) => name).filter((name) => !name.startsWith("task")),
      (await plain.listTools()).tools.map(({ name }) => name).filter((name) => !name.startsWith("task")),
    ];
    expect(await names()).toEqual([["one"], ["one"]]);
    await served.replace([two]);
    expect(await names()).toEqual([["two"], ["two"]]);
    expect(await session.callTool("two")).toMatchObject(text("two"));
    await expect(plain.callTool({ name: "one", arguments: {} })).rejects.toThrow("one not found");
    expect(served.errors).toEqual([]);
  },
);

it("tells a server nothing that callers chose to tell it, so that none gets the result of another", async () => {
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50 });
  let made = 0;
  tasks.tool("count", { onCrash: "resume" }, async () => text(`call ${++made}`));
  const seen: unknown[] = [];
  const server = await serveHttp(
    tasks.server(() => {
      const own = new McpServer({ name: "counter", version: "1.0.0" });
      own.registerTool("seen", {}, (context) => {
        seen.push(context.mcpReq._meta);
        return text("seen");
      });
      return own;
    }),
    { port: 0, anonymous: "shared" },
  );
  onTestFinished(() => server.close());
  const source = mcpUpstream("counter", { url: server.url, durable: false });
  const authenticate = async ({ headers }: Request) => headers.get("authorization")?.slice(7);
  const served = await gateway([source], {}, { authenticate });
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=1" };
  const counted: unknown[] = [];
  for (const token of ["alice", "bob"]) {
    const client = await clientOf(served, { token });
    counted.push(await client.callTool("count", {}, { idempotencyKey: "report-of-november-2026" }));
    const _meta = { ...trace, "holdfast/idempotencyKey": "report-of-november-2026", "x.example/user": "ann" };
    await client.sdk.callTool({ name: "seen", arguments: {}, _meta });
  }
  expect(counted).toMatchObject([text("call 1"), text("call 2")]);
  expect(seen).toEqual([trace, trace]);
  expect(served.errors).toEqual([]);
});
