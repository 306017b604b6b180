import { fileURLToPath } from "node:url";
import type { InputRequest } from "holdfast/client";
import { describe, expect } from "vitest";
import { startOnPort } from "../interop/our-client-everything.ts";
import { OurSide, script } from "./our-side.ts";
import { PeerRecord } from "./record/peer-record.ts";

const said = (text: string) => ({ content: [{ type: "text", text }] });

describe.each(["stdio", "HTTP"])("FastMCP server over %s", (way) => {
  const record = new PeerRecord(`fastmcp-${way.toLowerCase()}`, {
    peer: `FastMCP server over ${way}`,
    package: "fastmcp",
    as: "server",
  });
  const path = fileURLToPath(new URL("./clients/fastmcp-server.ts", import.meta.url));
  const us = async (): Promise<OurSide> =>
    OurSide.of(way === "stdio" ? script(path, ["stdio"]) : await startOnPort([path], "PORT"));

  record.works("lists tools, answers a call, and reports that another failed", async () => {
    const client = await (await us()).connect();
    record.speaks(client.sdk.getNegotiatedProtocolVersion());
    const { tools } = await client.sdk.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["add", "greet", "copy", "fail"]);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject(said("3"));
    expect(await client.callTool("fail")).toMatchObject({ isError: true });
  });
  record.works("asks a question during a call, and uses the answer", async () => {
    const cli = await us();
    const client = await cli.connect({
      onInput: async () => ({ action: "accept", content: { name: "Ada" } }),
    });
    expect(await client.callTool("greet")).toMatchObject(said("Hello, Ada!"));
  });
  record.works("reports progress on a call, which our client then aborts", async () => {
    const client = await (await us()).connect();
    const givenUp = new AbortController();
    const reports: unknown[] = [];
    const copied = client.callTool("copy", undefined, {
      signal: givenUp.signal,
      onProgress: (report) => {
        reports.push(report);
        givenUp.abort();
      },
    });
    await expect(copied).rejects.toThrow();
    expect(reports).toEqual([{ progress: 2, total: 5, message: "copied 2 files" }]);
  });
  record.works("works with our command line, which rejects invalid arguments", async () => {
    const cli = await us();
    expect(await cli.asks("call", "add", "a=1", "b=2")).toMatchObject({ code: 0, stdout: "3\n" });
    expect(await cli.asks("call", "add", "a=one", "b=2")).toMatchObject({ code: 2, stdout: "" });
  });
  record.lacks("has no tasks, so a call ends with its connection", "FastMCP", async () => {
    expect((await (await us()).examined()).tasks).toBeNull();
  });
  record.isAsWritten();
});

const example = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/sdk/examples/server/${name}.js`));

describe("the examples of SDK v1", () => {
  const record = new PeerRecord("sdk-v1-examples", {
    peer: "SDK v1 example servers over stdio and HTTP",
    package: "@modelcontextprotocol/sdk",
    as: "server",
  });
  const streamable = async (): Promise<OurSide> =>
    OurSide.of(await startOnPort([example("simpleStreamableHttp")], "MCP_PORT"));
  const interactive = async (): Promise<OurSide> =>
    OurSide.of(await startOnPort([example("simpleTaskInteractive")], "PORT", "Starting server"));

  record.works(
    "simpleStreamableHttp: tools, resources, prompts, and a task that our client starts",
    async () => {
      const client = await (await streamable()).connect();
      record.speaks(client.sdk.getNegotiatedProtocolVersion());
      expect(await client.callTool("greet", { name: "Ada" })).toMatchObject(said("Hello, Ada!"));
      const { contents } = await client.readResource("https://example.com/greetings/default");
      expect(contents).toMatchObject([{ text: "Hello, world!" }]);
      const { messages } = await client.getPrompt("greeting-template", { name: "Ada" });
      expect(JSON.stringify(messages)).toContain("Ada");
      const handle = await client.startTool("delay", { duration: 1 });
      expect(handle.reference).toMatchObject({ generation: "2025-11-25" });
      expect(await handle.result()).toMatchObject(said("Completed 1ms delay"));
    },
  );
  record.works(
    "simpleStreamableHttp: a task that our command line starts with `--detach` and finds again",
    async () => {
      const cli = await streamable();
      const id = (await cli.asks("call", "delay", "duration=600000", "--detach")).stdout.trim();
      expect((await cli.runs("get", id, "--json")).stdout).toContain('"working"');
    },
  );
  record.works("simpleTaskInteractive: tasks that ask the user and the model", async () => {
    const asked: string[] = [];
    const client = await (
      await interactive()
    ).connect({
      capabilities: { elicitation: { form: {} }, sampling: {} },
      onInput: async ({ method }: InputRequest) => {
        asked.push(method);
        return method === "elicitation/create"
          ? { action: "accept", content: { confirm: true } }
          : { role: "assistant", model: "none", content: { type: "text", text: "An old pond" } };
      },
    });
    expect(await client.callTool("confirm_delete", { filename: "a" })).toMatchObject(said("Deleted 'a'"));
    expect(await client.callTool("write_haiku", { topic: "frogs" })).toMatchObject(
      said("Haiku:\nAn old pond"),
    );
    expect(asked).toEqual(["elicitation/create", "sampling/createMessage"]);
  });
  record.works(
    "simpleTaskInteractive: a task that our command line starts with `--detach`, answers, and reads the result of",
    async () => {
      const cli = await interactive();
      const id = (await cli.asks("call", "confirm_delete", "filename=a", "--detach")).stdout.trim();
      expect(await cli.runs("answer", id, "confirm=true")).toMatchObject({ code: 0 });
      expect(await cli.runs("result", id)).toMatchObject({ code: 0, stdout: "Deleted 'a'\n" });
    },
  );
  record.works("elicitationFormExample: a form during a call", async () => {
    const url = await startOnPort([example("elicitationFormExample")], "PORT", "is running on");
    const content = {
      username: "ada",
      email: "ada@example.com",
      password: "correct horse",
      newsletter: false,
    };
    const client = await (
      await OurSide.of(url)
    ).connect({ onInput: async () => ({ action: "accept", content }) });
    expect(JSON.stringify(await client.callTool("register_user"))).toContain("Registration successful");
  });
  record.works(
    "progressExample, toolWithSampleServer, mcpServerOutputSchema: progress, sampling and structured output over stdio",
    async () => {
      const counter = await (await OurSide.of(script(example("progressExample")))).connect();
      const reports: unknown[] = [];
      const counted = counter.callTool("count", { n: 2 }, { onProgress: (report) => reports.push(report) });
      expect(await counted).toMatchObject(said("Counted to 2"));
      expect(reports).toMatchObject([{ progress: 1 }, { progress: 2 }]);
      const sampler = await (
        await OurSide.of(script(example("toolWithSampleServer")))
      ).connect({
        capabilities: { sampling: {} },
        onInput: async () => ({ role: "assistant", model: "none", content: { type: "text", text: "short" } }),
      });
      expect(await sampler.callTool("summarize", { text: "long" })).toMatchObject(said("short"));
      const weather = await (await OurSide.of(script(example("mcpServerOutputSchema")))).connect();
      const { structuredContent } = await weather.callTool("get_weather", { city: "Oslo", country: "NO" });
      expect(structuredContent).toMatchObject({ temperature: { celsius: expect.any(Number) as number } });
    },
  );
  record.lacks(
    "declares in neither example with tasks that tasks can be cancelled",
    "the examples",
    async () => {
      for (const us of [await streamable(), await interactive()])
        expect((await us.examined()).checks).toMatchObject({ tasks: true, cancel: false });
    },
  );
  record.isAsWritten();
});

describe.each(["2026-07-28", "2025-11-25"] as const)("a server on SDK v2 in %s", (protocolVersion) => {
  const record = new PeerRecord(`sdk-v2-server-${protocolVersion}`, {
    peer: "SDK v2 server over stdio",
    package: "@modelcontextprotocol/server",
    as: "server",
  });
  const path = fileURLToPath(new URL("../interop/sdk-v2-server.ts", import.meta.url));

  record.works("lists tools, answers a call, and reports that another failed", async () => {
    const client = await (await OurSide.of(script(path, ["stdio"]))).connect({ protocolVersion });
    record.speaks(client.sdk.getNegotiatedProtocolVersion());
    expect((await client.sdk.listTools()).tools).toHaveLength(3);
    expect(await client.callTool("echo", { say: "hello" })).toMatchObject(said("hello"));
    expect(await client.callTool("fails")).toMatchObject({ isError: true });
  });
  record.works("asks with a form and with a URL during a call", async () => {
    const client = await (
      await OurSide.of(script(path, ["stdio"]))
    ).connect({
      protocolVersion,
      capabilities: { elicitation: { form: {}, url: {} } },
      onInput: async ({ params }) => ({ action: "url" in params ? "accept" : "decline" }),
    });
    expect(await client.callTool("asks")).toMatchObject(said("decline, accept"));
  });
  record.lacks("has no tasks of its own; Holdfast adds them", "the SDK", async () => {
    const client = await (await OurSide.of(script(path, ["stdio"]))).connect({ protocolVersion });
    expect(await client.startTool("echo", { say: "x" })).toMatchObject({ taskId: null, reference: null });
  });
  record.isAsWritten();
});
