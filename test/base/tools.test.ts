import { createServer } from "node:http";
import { once } from "node:events";
import { getDisplayName } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { expectReport, pipeBeside, revisions, serveBeside, text } from "./beside-tasks.ts";

const area = { width: z.number(), height: z.number() };

function shapes(): McpServer {
  const mcp = new McpServer({ name: "shapes", version: "1.0.0" });
  mcp.registerTool(
    "area",
    {
      title: "Area of a rectangle",
      description: "Multiplies",
      inputSchema: area,
      outputSchema: { area: z.number() },
      annotations: { readOnlyHint: true, idempotentHint: true },
      icons: [{ src: "https://example.com/area.png", mimeType: "image/png" }],
    },
    async ({ width, height }) => {
      const structuredContent = { area: width * height };
      return { ...text(JSON.stringify(structuredContent)), structuredContent };
    },
  );
  return mcp;
}

const areaSchema = {
  type: "object",
  properties: { width: { type: "number" }, height: { type: "number" } },
  required: ["width", "height"],
};

it.each(revisions)(
  "lists what an author's tool says of itself, and calls it, on %s [B-004 B-009]",
  async (revision) => {
    const client = await (await serveBeside(shapes)).connect(revision);
    const { tools } = await client.sdk.listTools();
    expect(tools.find(({ name }) => name === "area")).toMatchObject({
      title: "Area of a rectangle",
      description: "Multiplies",
      inputSchema: areaSchema,
      outputSchema: { type: "object", properties: { area: { type: "number" } }, required: ["area"] },
      annotations: { readOnlyHint: true, idempotentHint: true },
      icons: [{ src: "https://example.com/area.png", mimeType: "image/png" }],
    });
    const result = await client.callTool("area", { width: 3, height: 4 });
    expect(result).toMatchObject({ ...text('{"area":12}'), structuredContent: { area: 12 } });
    await expectReport(client);
  },
);

it.each(revisions)("lists a durable tool with the same, and how it runs, on %s [B-009]", async (revision) => {
  const served = await serveBeside(shapes, {}, (tasks) =>
    tasks.tool(
      "render",
      {
        title: "Render",
        description: "Draws it",
        inputSchema: z.object(area),
        outputSchema: z.object({ area: z.number() }),
        annotations: { destructiveHint: false },
        task: "required",
      },
      async ({ width, height }) => ({ content: [], structuredContent: { area: width * height } }),
    ),
  );
  const client = await served.connect(revision);
  const { tools } = await client.sdk.listTools();
  expect(tools.find(({ name }) => name === "render")).toMatchObject({
    title: "Render",
    description: "Draws it",
    inputSchema: areaSchema,
    outputSchema: { properties: { area: { type: "number" } } },
    annotations: { destructiveHint: false },
    // 2026-07-28 has no say of a tool: the server decides on each call.
    ...(revision === "2025-11-25" && { execution: { taskSupport: "required" } }),
  });
  const result = await client.callTool("render", { width: 3, height: 4 });
  expect(result.structuredContent).toEqual({ area: 12 });
});

it.each(revisions)("keeps bad arguments from a handler on %s [B-010]", async (revision) => {
  const called: unknown[] = [];
  const inputSchema = z.object({ count: z.number().int() });
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "counts", version: "1.0.0" });
    mcp.registerTool("count", { inputSchema }, (args) => {
      called.push(args);
      return text("counted");
    });
    return mcp;
  };
  const served = await serveBeside(factory, {}, (tasks) =>
    tasks.tool("slow_count", { inputSchema }, async (args) => {
      called.push(args);
      return text("counted");
    }),
  );
  const client = await served.connect(revision);
  const refused = await client.callTool("count", { count: "many" });
  expect(refused.isError).toBe(true);
  expect(JSON.stringify(refused.content)).toContain("expected number");
  const refusedTask = client.callTool("slow_count", { count: "many" });
  // In 2025-11-25 the call asks for a task, which has no result to be an error.
  if (revision === "2025-11-25") await expect(refusedTask).rejects.toMatchObject({ error: { code: -32602 } });
  else expect(await refusedTask).toMatchObject({ isError: true });
  expect(called).toEqual([]);
  expect(await client.callTool("count", { count: 3 })).toMatchObject(text("counted"));
  expect(called).toEqual([{ count: 3 }]);
});

it.each(revisions)(
  "makes an error of structured content that its schema does not allow, on %s [B-011]",
  async (revision) => {
    const outputSchema = z.object({ total: z.number() });
    const wrong = { structuredContent: { total: "a lot" }, content: [] };
    const factory = (): McpServer => {
      const mcp = new McpServer({ name: "totals", version: "1.0.0" });
      mcp.registerTool("total", { outputSchema }, () => wrong);
      mcp.registerTool("nothing", { outputSchema }, () => text("no total"));
      return mcp;
    };
    const client = await (await serveBeside(factory)).connect(revision);
    for (const tool of ["total", "nothing"]) {
      expect(await client.callTool(tool)).toMatchObject({ isError: true });
    }
    await expectReport(client);
  },
);

it.each(revisions)(
  "has handlers that work on the network and return links to resources, on %s [B-012 B-013]",
  async (revision) => {
    const upstream = createServer((request, response) => {
      response.writeHead(request.url === "/rows" ? 200 : 500).end("17");
    }).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    onTestFinished(() => void upstream.close());
    const address = upstream.address();
    const base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    const factory = (): McpServer => {
      const mcp = new McpServer({ name: "rows", version: "1.0.0" });
      mcp.registerResource("rows", "rows://17", {}, ({ href }) => ({
        contents: [{ uri: href, text: "17 rows" }],
      }));
      mcp.registerTool("rows", { inputSchema: { path: z.string() } }, async ({ path }) => {
        const response = await fetch(`${base}/${path}`);
        if (!response.ok) return { ...text(`The database answered ${response.status}`), isError: true };
        const uri = `rows://${await response.text()}`;
        return {
          content: [{ type: "resource_link", uri, name: "rows", title: "Rows", mimeType: "text/plain" }],
        };
      });
      return mcp;
    };
    const client = await (await serveBeside(factory)).connect(revision);
    const { content } = await client.callTool("rows", { path: "rows" });
    expect(content).toEqual([
      { type: "resource_link", uri: "rows://17", name: "rows", title: "Rows", mimeType: "text/plain" },
    ]);
    const [link] = content;
    const read = await client.readResource(link?.type === "resource_link" ? link.uri : "");
    expect(read.contents).toMatchObject([{ uri: "rows://17", text: "17 rows" }]);
    const failed = await client.callTool("rows", { path: "none" });
    expect(failed).toMatchObject({ ...text("The database answered 500"), isError: true });
    await expectReport(client);
  },
);

it.each(revisions)(
  "shows a tool by its title, then by that of its annotations, then by its name, on %s [B-014]",
  async (revision) => {
    const named = [
      { name: "a", config: { title: "Title", annotations: { title: "Of annotations" } }, shown: "Title" },
      { name: "b", config: { annotations: { title: "Of annotations" } }, shown: "Of annotations" },
      { name: "c", config: {}, shown: "c" },
    ];
    const factory = (): McpServer => {
      const mcp = new McpServer({ name: "names", version: "1.0.0" });
      for (const { name, config } of named) mcp.registerTool(name, config, () => text(name));
      return mcp;
    };
    const served = await serveBeside(factory, {}, (tasks) => {
      for (const { name, config } of named) tasks.tool(`slow_${name}`, config, () => text(name));
    });
    const { tools } = await (await served.connect(revision)).sdk.listTools();
    const shown = Object.fromEntries(tools.map((tool) => [tool.name, getDisplayName(tool)]));
    expect(shown).toMatchObject({ a: "Title", b: "Of annotations", c: "c" });
    expect(shown).toMatchObject({ slow_a: "Title", slow_b: "Of annotations", slow_c: "slow_c" });
  },
);

it("takes schemas by their fields and as objects, over a pipe [B-005]", async () => {
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "schemas", version: "1.0.0" });
    mcp.registerTool("fields", { inputSchema: { n: z.number() } }, ({ n }) => text(`${n + 1}`));
    mcp.registerTool("object", { inputSchema: z.object({ n: z.number() }) }, ({ n }) => text(`${n + 1}`));
    return mcp;
  };
  const client = await pipeBeside(factory);
  const { tools } = await client.sdk.listTools();
  for (const tool of ["fields", "object"]) {
    expect(tools.find(({ name }) => name === tool)?.inputSchema).toMatchObject({
      properties: { n: { type: "number" } },
      required: ["n"],
    });
    expect(await client.callTool(tool, { n: 1 })).toMatchObject(text("2"));
    expect(await client.callTool(tool, { n: "one" })).toMatchObject({ isError: true });
  }
  await expectReport(client);
});
