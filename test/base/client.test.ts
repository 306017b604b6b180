import {
  completable,
  McpServer,
  ResourceTemplate,
  type McpRequestContext,
} from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { expectReport, revisions, serveBeside, text } from "./beside-tasks.ts";

function everything({ era }: McpRequestContext): McpServer {
  const mcp = new McpServer({ name: "everything", version: "1.0.0" });
  mcp.registerTool("echo", { inputSchema: { say: z.string() } }, ({ say }) => text(say));
  mcp.registerResource("note", "note://1", {}, ({ href: uri }) => ({ contents: [{ uri, text: "one" }] }));
  const notes = new ResourceTemplate("notes://{n}", { list: undefined });
  mcp.registerResource("notes", notes, {}, ({ href: uri }, { n }) => ({
    contents: [{ uri, text: `note ${String(n)}` }],
  }));
  const argsSchema = { tone: completable(z.string(), () => ["kind", "curt"]) };
  mcp.registerPrompt("reply", { argsSchema }, ({ tone }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Reply, ${tone}.` } }],
  }));
  if (era === "legacy") {
    mcp.registerTool("roots", {}, async () => {
      const { roots } = await mcp.server.listRoots();
      return text(roots.map(({ uri }) => uri).join());
    });
  }
  return mcp;
}

it.each(revisions)(
  "has all that a server offers, by itself and by the SDK's client, on %s [B-036]",
  async (revision) => {
    const served = await serveBeside(everything);
    const client = await served.connect(revision, {
      capabilities: { roots: {} },
      onInput: async () => ({ roots: [{ uri: "file:///home" }] }),
    });
    const { sdk } = client;
    expect((await sdk.listTools()).tools.map(({ name }) => name)).toContain("echo");
    expect(await client.callTool("echo", { say: "hi" })).toMatchObject(text("hi"));
    expect(await sdk.callTool({ name: "echo", arguments: { say: "hi" } })).toMatchObject(text("hi"));
    expect((await sdk.listResources()).resources).toMatchObject([{ uri: "note://1" }]);
    expect((await sdk.listResourceTemplates()).resourceTemplates[0]).toMatchObject({
      uriTemplate: "notes://{n}",
    });
    for (const read of [
      await client.readResource("notes://7"),
      await sdk.readResource({ uri: "notes://7" }),
    ]) {
      expect(read.contents).toMatchObject([{ text: "note 7" }]);
    }
    expect((await sdk.listPrompts()).prompts).toMatchObject([{ name: "reply" }]);
    const reply = { name: "reply", arguments: { tone: "kind" } };
    for (const got of [await client.getPrompt(reply.name, reply.arguments), await sdk.getPrompt(reply)]) {
      expect(got.messages).toMatchObject([{ content: { text: "Reply, kind." } }]);
    }
    const ref = { type: "ref/prompt" as const, name: "reply" };
    const { completion } = await sdk.complete({ ref, argument: { name: "tone", value: "" } });
    expect(completion.values).toEqual(["kind", "curt"]);
    if (revision === "2025-11-25") expect(await client.callTool("roots")).toMatchObject(text("file:///home"));
    await expectReport(client);
  },
);

it.each(revisions)("keeps several clients of one process apart, on %s [B-041]", async (revision) => {
  const named =
    (name: string): (() => McpServer) =>
    () => {
      const mcp = new McpServer({ name, version: "1.0.0" });
      mcp.registerTool("ask", {}, () => text(name));
      return mcp;
    };
  const servers = await Promise.all(["mail", "files"].map((name) => serveBeside(named(name))));
  const clients = await Promise.all(servers.map((server) => server.connect(revision)));
  const answers = await Promise.all(clients.map((client) => client.callTool("ask")));
  expect(answers).toMatchObject([text("mail"), text("files")]);
  const handles = await Promise.all(
    clients.map((client) => client.startTool("report", { month: "2026-10" })),
  );
  const [mail, files] = handles.map(({ reference }) => reference);
  expect(mail?.server).not.toBe(files?.server);
  await expect(clients[1]?.resume(mail ?? null)).rejects.toMatchObject({ code: "reference" });
  await clients[0]?.close();
  expect(await handles[1]?.result()).toMatchObject(text("2026-10: 42 rows"));
  const [, other] = clients;
  if (other !== undefined) await expectReport(other);
});
