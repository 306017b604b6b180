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
