import { realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { InputRequest, InputResult } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { describe, expect } from "vitest";
import { folder } from "../cli/run-cli.ts";
import { script as everythingScript, startHttp } from "../interop/our-client-everything.ts";
import { OurSide, programOf, script } from "./our-side.ts";
import { PeerRecord } from "./record/peer-record.ts";

async function answer({ method }: InputRequest): Promise<InputResult> {
  return method === "sampling/createMessage"
    ? { role: "assistant", model: "none", content: { type: "text", text: "42" } }
    : { action: "accept", content: { interpretation: "technical", name: "Ada" } };
}

const capabilities = { elicitation: { form: {} }, sampling: {} };

describe.each(["stdio", "HTTP"])("server-everything over %s", (way) => {
  const record = new PeerRecord(`server-everything-${way.toLowerCase()}`, {
    peer: `server-everything over ${way}`,
    package: "@modelcontextprotocol/server-everything",
    as: "server",
  });
  const us = async (): Promise<OurSide> =>
    OurSide.of(way === "stdio" ? script(everythingScript, ["stdio"]) : await startHttp());

  record.works("lists tools, and answers a call", async () => {
    const client = await (await us()).connect();
    record.speaks(client.sdk.getNegotiatedProtocolVersion());
    const { tools } = await client.sdk.listTools();
    expect(tools.map(({ name }) => name)).toContain("simulate-research-query");
    expect(await client.callTool("echo", { message: "hello" })).toMatchObject({
      content: [{ text: "Echo: hello" }],
    });
  });
  record.works("runs a task that asks a question, and returns its result", async () => {
    const asked: unknown[] = [];
    const client = await (
      await us()
    ).connect({
      capabilities,
      onInput: async (request) => (asked.push(request.taskId), answer(request)),
    });
    const handle = await client.startTool("simulate-research-query", { topic: "tasks", ambiguous: true });
    expect(JSON.stringify(await handle.result())).toContain("Research Report: tasks (technical)");
    expect(asked).toEqual([handle.taskId]);
  });
  record.works("cancels a task", async () => {
    const client = await (await us()).connect();
    const handle = await client.startTool("simulate-research-query", { topic: "tasks" });
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
  });
  record.works("has our client run its elicitation and sampling requests as tasks", async () => {
    const client = await (
      await us()
    ).connect({
      capabilities,
      receiveTasks: { store: memoryStore(), pollIntervalMs: 50 },
      onInput: answer,
    });
    const elicited = JSON.stringify(await client.callTool("trigger-elicitation-request-async"));
    expect(elicited).toContain("Task created");
    expect(elicited).toContain("Ada");
    const args = { prompt: "6 by 7?", maxTokens: 9 };
    const sampled = JSON.stringify(await client.callTool("trigger-sampling-request-async", args));
    expect(sampled).toContain("Task created");
    expect(sampled).toContain("42");
  });
  record.works("works with our command line: resources, prompts and completions", async () => {
    const cli = await us();
    const uri = "demo://resource/static/document/extension.md";
    expect((await cli.asks("resources")).stdout).toContain(uri);
    expect((await cli.asks("read", uri)).stdout).toContain("Extension Points");
    expect((await cli.asks("prompts")).stdout).toContain("args-prompt");
    expect((await cli.asks("prompt", "args-prompt", "city=Paris")).stdout).toContain("Paris");
    const completed = await cli.asks("complete", "prompt", "completable-prompt", "department=En");
    expect(completed).toMatchObject({ code: 0, stdout: "Engineering\n" });
  });
  record.lacks(
    "does not recognise repeated calls, so our client does not resend a call whose answer was lost",
    "the server",
    async () => {
      const { tasks, checks } = await (await us()).examined();
      expect(tasks).toBe("2025-11-25");
      expect(checks).toMatchObject({ tasks: true, repeats: false });
    },
  );
  record.isAsWritten();
});

describe("filesystem", () => {
  const record = new PeerRecord("server-filesystem", {
    peer: "filesystem over stdio",
    package: "@modelcontextprotocol/server-filesystem",
    as: "server",
  });
  const program = programOf("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem");
  const us = async (): Promise<{ cli: OurSide; place: string }> => {
    const place = await realpath(await folder());
    return { cli: await OurSide.of(script(program, [place])), place };
  };

  record.works(
    "writes and reads files for our command line, which takes an argument from a file",
    async () => {
      const { cli, place } = await us();
      await writeFile(join(place, "notes.md"), "# Notes\n");
      const copy = join(place, "copy.md");
      const written = await cli.asks(
        "call",
        "write_file",
        `path=${copy}`,
        `content=@${join(place, "notes.md")}`,
      );
      expect(written).toMatchObject({ code: 0 });
      expect(await cli.asks("call", "read_text_file", `path=${copy}`)).toMatchObject({
        code: 0,
        stdout: "# Notes\n",
      });
    },
  );
  record.works(
    "refuses a path outside its folders, which our command line shows as a failed call",
    async () => {
      const { cli, place } = await us();
      const refused = await cli.asks("call", "read_text_file", `path=${join(place, "..", "other")}`);
      expect(refused.code).toBe(1);
      expect(refused.stdout).toMatch(/^Access denied/);
    },
  );
  record.works("takes its folders from our client's roots", async () => {
    const { cli } = await us();
    const root = await realpath(await folder());
    const client = await cli.connect({
      capabilities: { roots: {} },
      onInput: async () => ({ roots: [{ uri: pathToFileURL(root).href }] }),
    });
    record.speaks(client.sdk.getNegotiatedProtocolVersion());
    const allowed = async (): Promise<string> =>
      JSON.stringify(await client.callTool("list_allowed_directories"));
    await expect.poll(allowed).toContain(root);
  });
  record.lacks("has no tasks, so a call ends with its connection", "the server", async () => {
    expect((await (await us()).cli.examined()).tasks).toBeNull();
  });
  record.isAsWritten();
});

describe("memory", () => {
  const record = new PeerRecord("server-memory", {
    peer: "memory over stdio",
    package: "@modelcontextprotocol/server-memory",
    as: "server",
  });
  const program = programOf("@modelcontextprotocol/server-memory", "mcp-server-memory");
  const us = async (): Promise<OurSide> =>
    OurSide.of(script(program, [], { MEMORY_FILE_PATH: join(await folder(), "memory.jsonl") }));
  const ann = { name: "Ann", entityType: "person", observations: ["likes tea"] };

  record.works("keeps data from one of our commands to the next", async () => {
    const cli = await us();
    await cli.asks("call", "create_entities", `entities:=${JSON.stringify([ann])}`);
    const found = await cli.asks("call", "search_nodes", "query=tea");
    expect(JSON.parse(found.stdout)).toEqual({ entities: [ann], relations: [] });
  });
  record.works("offers its graph as a resource", async () => {
    const client = await (await us()).connect();
    record.speaks(client.sdk.getNegotiatedProtocolVersion());
    await client.callTool("create_entities", { entities: [ann] });
    const { resources } = await client.sdk.listResources();
    const { contents } = await client.readResource(resources[0]?.uri ?? "");
    expect(JSON.stringify(contents)).toContain("likes tea");
  });
  record.lacks("has no tasks, so a call ends with its connection", "the server", async () => {
    expect((await (await us()).examined()).tasks).toBeNull();
  });
  record.isAsWritten();
});
