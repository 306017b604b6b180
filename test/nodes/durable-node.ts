// One of several nodes with the tools of a server of the SDK: node durable-node.ts serve|work|both DATABASE FOLDER.
import { McpServer, type CallToolResult } from "@modelcontextprotocol/server";
import { durable, type TaskContext } from "holdfast";
import { serveHttp } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import * as z from "zod";
import { Gates } from "../peers/gates.ts";
import type { NodeReply } from "./nodes.ts";

const [role = "", database = "", folder = ""] = process.argv.slice(2);
const gates = new Gates(folder);
const inputSchema = z.object({ word: z.string() });
const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };
const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] });

function runs(word: string, { signal }: TaskContext): void {
  gates.log(`(runs in ${process.pid}) ${word}`);
  signal.addEventListener("abort", () => gates.log(`(aborted) ${word}`));
}

function makeServer(): McpServer {
  const server = new McpServer({ name: "node", version: "1.0.0" });
  server.registerTool("gated", { task: "optional", inputSchema }, async ({ word }, ctx) => {
    runs(word, ctx.task);
    const first = await ctx.task.step("first", () => {
      gates.log(`first ${word}`);
      return word.toUpperCase();
    });
    gates.log(`(waits) ${word}`); // the first step is on disk
    await gates.opened(word, ctx.mcpReq.signal);
    const second = await ctx.task.step("second", () => {
      gates.log(`second ${word}`);
      return `${first} ${word}`;
    });
    return text(second);
  });
  for (const [name, idempotentHint] of [
    ["asks", false],
    ["asks_again", true],
  ] as const) {
    const task = { requires: ["elicitation"] } as const;
    server.registerTool(
      name,
      { task, inputSchema, annotations: { idempotentHint } },
      async ({ word }, ctx) => {
        runs(word, ctx.task);
        const { content } = await ctx.mcpReq.elicitInput({ message: `Whose ${word}?`, requestedSchema });
        return text(`${String(content?.["name"])}'s ${word}`);
      },
    );
  }
  server.registerTool("looks", { task: "optional", inputSchema }, async ({ word }, ctx) => {
    runs(word, ctx.task);
    return text(`${word}: ${String(ctx.http?.req?.headers.get("mcp-name"))}`);
  });
  server.registerTool("here", { inputSchema }, async ({ word }) => text(`${word} in ${process.pid}`));
  return server;
}

const server = durable(makeServer, {
  store: postgresStore(database),
  roles: role === "both" ? ["serve", "work"] : [role === "serve" ? "serve" : "work"],
  crashBackoffMs: 10,
  pollIntervalMs: 50,
  rates: { pollsPerInterval: null, maxLoopDelayMs: null }, // the machine may be busy with other things
});

process.once("disconnect", () => process.exit(1)); // a suite that was killed leaves nothing behind

function tell(reply: NodeReply): void {
  process.send?.(reply);
}

if (role === "work") {
  await server.tasks.start();
  tell({ url: null });
} else {
  const http = await serveHttp(server, { port: 0, anonymous: "shared", keepAliveTimeoutMs: 60_000 });
  tell({ url: http.url });
}
