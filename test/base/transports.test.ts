import { readFile } from "node:fs/promises";
import { InMemoryTransport, McpServer, type JSONRPCMessage } from "@modelcontextprotocol/server";
import { serveTransport } from "holdfast";
import type { ConnectOptions, TaskClient } from "holdfast/client";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { connected, expectReport, tasksWithReport, text } from "./beside-tasks.ts";

interface InMemory {
  readonly client: TaskClient;
  /** Everything that went over the transport, in its order. */
  readonly messages: readonly JSONRPCMessage[];
  /** Resolves when the author's server hears of the end of its connection. */
  readonly closed: Promise<void>;
}

/** A server and a client of ours on the two ends of a transport of the SDK's form, which is not one of ours. */
async function inMemory(options: ConnectOptions = {}): Promise<InMemory> {
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  const messages: JSONRPCMessage[] = [];
  for (const end of [theirs, ours]) {
    const send = end.send.bind(end);
    end.send = (message, how) => {
      messages.push(message);
      return send(message, how);
    };
  }
  const closed = Promise.withResolvers<void>();
  const tasks = tasksWithReport();
  tasks.tool("ask", {}, async (_, task) => {
    const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };
    const { content } = await task.elicit("name", { message: "Name?", requestedSchema });
    return text(`hello ${String(content?.["name"])}`);
  });
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "memory", version: "1.0.0" });
    mcp.registerTool("echo", { inputSchema: { say: z.string() } }, ({ say }) => text(say));
    mcp.registerResource("note", "note://1", {}, ({ href: uri }) => ({ contents: [{ uri, text: "one" }] }));
    mcp.registerPrompt("reply", {}, () => ({
      messages: [{ role: "user", content: { type: "text", text: "Reply." } }],
    }));
    mcp.server.onclose = () => closed.resolve();
    return mcp;
  };
  const connection = await serveTransport(tasks.server(factory), theirs);
  onTestFinished(async () => {
    await connection.close();
    await tasks.stop();
  });
  return {
    client: await connected(ours, { protocolVersion: "2025-11-25", ...options }),
    messages,
    closed: closed.promise,
  };
}

describe("a transport of one's own", () => {
  it("carries everything, tasks too [B-048 B-049]", async () => {
    const onInput: ConnectOptions["onInput"] = async () => ({ action: "accept", content: { name: "Ann" } });
    const { client } = await inMemory({ onInput });
    expect(await client.callTool("echo", { say: "hi" })).toMatchObject(text("hi"));
    expect((await client.readResource("note://1")).contents).toMatchObject([{ text: "one" }]);
    expect((await client.getPrompt("reply")).messages).toHaveLength(1);
    expect(await client.callTool("ask")).toMatchObject(text("hello Ann"));
    await expectReport(client);
  });

  it("has the messages and the lifecycle of any other [B-049]", async () => {
    const { client, messages } = await inMemory();
    await expectReport(client);
    for (const message of messages) expect(message).toMatchObject({ jsonrpc: "2.0" });
    const methods = messages.flatMap((message) => ("method" in message ? [message.method] : []));
    expect(methods.slice(0, 2)).toEqual(["initialize", "notifications/initialized"]);
  });

  it("tells both sides of its end [B-002]", async () => {
    const { client, closed } = await inMemory();
    const told = Promise.withResolvers<void>();
    client.sdk.onclose = () => told.resolve();
    await expectReport(client);
    await client.close();
    await Promise.all([closed, told.promise]);
    await expect(client.callTool("echo", { say: "hi" })).rejects.toMatchObject({ code: "closed" });
  });
});

it("is documented with how it connects and what it carries [B-050]", async () => {
  const guide = await readFile(new URL("../../docs/recipes/transports.md", import.meta.url), "utf8");
  const [, part = ""] = /\n## A transport of your own\n([^]*?)\n## /.exec(guide) ?? [];
  for (const said of ["`start`", "`onmessage`", "`onclose`", "JSON-RPC", "`connect`", "order"]) {
    expect(part).toContain(said);
  }
});
