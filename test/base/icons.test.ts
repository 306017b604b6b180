import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { expectReport, revisions, serveBeside, text } from "./beside-tasks.ts";

const icons = (name: string) => [
  { src: `https://example.com/${name}.svg`, mimeType: "image/svg+xml", sizes: ["any"] },
];

function studio(): McpServer {
  const mcp = new McpServer({
    name: "studio",
    version: "1.0.0",
    title: "Studio",
    websiteUrl: "https://example.com",
    icons: icons("studio"),
  });
  mcp.registerTool("draw", { icons: icons("draw") }, () => text("drawn"));
  mcp.registerResource("palette", "studio://palette", { icons: icons("palette") }, ({ href: uri }) => ({
    contents: [{ uri, text: "red" }],
  }));
  const sketch = new ResourceTemplate("studio://sketches/{n}", { list: undefined });
  mcp.registerResource("sketch", sketch, { icons: icons("sketch") }, ({ href: uri }) => ({
    contents: [{ uri, text: "a sketch" }],
  }));
  mcp.registerPrompt("critique", { icons: icons("critique") }, () => ({ messages: [] }));
  return mcp;
}

it.each(revisions)(
  "has the icons of a server and of what it offers, durable tools too, on %s",
  async (revision) => {
    const served = await serveBeside(studio, {}, (tasks) =>
      tasks.tool("render", { title: "Render", icons: icons("render") }, () => text("rendered")),
    );
    const client = await served.connect(revision);
    const { sdk } = client;
    const websiteUrl = "https://example.com";
    expect(sdk.getServerVersion()).toMatchObject({ title: "Studio", websiteUrl, icons: icons("studio") });
    const lists = [
      (await sdk.listTools()).tools,
      (await sdk.listResources()).resources,
      (await sdk.listResourceTemplates()).resourceTemplates,
      (await sdk.listPrompts()).prompts,
    ];
    const shown = new Map(lists.flat().map((item) => [item.name, item.icons]));
    for (const name of ["draw", "render", "palette", "sketch", "critique"]) {
      expect([name, shown.get(name)]).toEqual([name, icons(name)]);
    }
    await expectReport(client);
  },
);
