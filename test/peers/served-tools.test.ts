import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { serveFile, toolsFileAt } from "../../src/serve/file/serve-file.ts";
import { runMain } from "../cli/run-main.ts";
import { compileCache } from "../compile-cache.ts";
import { service } from "../serve/openapi/jobs.ts";
import { openClient } from "./clients/open-client.ts";
import { programOf } from "./our-side.ts";
import { Program } from "./program.ts";

const examples = fileURLToPath(new URL("../../examples/serve/", import.meta.url));
const fastMcp = fileURLToPath(new URL("./clients/fastmcp-server.ts", import.meta.url));
const everything = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);

const script = `import sys
from holdfast import progress
progress(1, 1, "counted")
print(f"{len(sys.argv[1])} characters")
`;

/** Each with a call, and what its result has. The last three are servers that nobody changed: one has tasks, and two have none. */
const calls = [
  ["count", { word: "holdfast" }, "8 characters"],
  ["build", { target: "debug" }, "step 3 of the debug build"],
  ["render", { scene: "sea" }, "rendered sea"],
  ["startRender", { body: { scene: "sky" } }, "rendered sky"],
  ["notes_add", { a: 1, b: 2 }, "3"],
  ["memory_read_graph", {}, "entities"],
  ["everything_simulate-research-query", { topic: "tasks" }, "Research Report: tasks"],
] as const;

const document = {
  openapi: "3.1.0",
  info: { title: "Renders", version: "1" },
  paths: {
    "/renders": {
      post: {
        operationId: "startRender",
        requestBody: {
          required: true,
          content: {
            "application/json": { schema: { type: "object", properties: { scene: { type: "string" } } } },
          },
        },
        responses: { "202": { description: "It renders" } },
      },
    },
  },
};

it(
  "makes tools of programs, APIs and servers of others durable, for clients that know no tasks",
  { timeout: 240_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-served-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    await cp(examples, folder, { recursive: true });
    await writeFile(join(folder, "count.py"), script);
    let renders = 0;
    const jobs = await service(({ method, url, body }, response, times) => {
      const place =
        method === "POST" ? `/renders/${(JSON.parse(body) as { scene: string }).scene}/${renders++}` : url;
      if (method === "POST" || times === 1)
        response.writeHead(202, { Location: place, "Retry-After": "0" }).end();
      else
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ is: `rendered ${url.split("/")[2]}` }));
    });
    const text = { type: "string" };
    const program = (args: readonly string[], prefix: string) => {
      return { command: process.execPath, args, prefix, env: compileCache };
    };
    const file = {
      store: "sqlite:tasks.db",
      listen: "127.0.0.1:0",
      auth: { anonymous: "shared" },
      tools: {
        count: { inputSchema: { properties: { word: text } }, command: ["python3", "count.py", "{word}"] },
        build: { inputSchema: { properties: { target: text } }, command: ["sh", "build.sh", "{target}"] },
        render: {
          inputSchema: { properties: { scene: text } },
          http: {
            method: "POST",
            url: `${jobs.url}/renders`,
            body: { scene: "{scene}" },
            allow: ["127.0.0.1"],
          },
        },
      },
      openapi: { renders: { document: "renders.json", server: jobs.url, allow: ["127.0.0.1"] } },
      mcp: {
        notes: program([fastMcp, "stdio"], "notes_"),
        memory: program([programOf("@modelcontextprotocol/server-memory", "mcp-server-memory")], "memory_"),
        everything: program([everything, "stdio"], "everything_"),
      },
    };
    await writeFile(join(folder, "renders.json"), JSON.stringify(document));
    await writeFile(join(folder, "tools.json"), JSON.stringify(file));
    const server = await serveFile(toolsFileAt(join(folder, "tools.json"), process.env), {
      env: {},
      note: () => undefined,
    });
    onTestFinished(() => server.close());
    const url = server.url ?? "";

    const durable = await connect(url);
    onTestFinished(() => durable.close());
    const inspector = new Program(programOf("@modelcontextprotocol/inspector", "mcp-inspector"), folder);
    const clients: Readonly<Record<string, (tool: string, args: object) => Promise<unknown>>> = {
      "with tasks": async (tool, args) => {
        const handle = await durable.startTool(tool, { ...args });
        expect(handle.taskId).not.toBeNull();
        return handle.result();
      },
      "SDK v1": async (tool, args) => (await openClient["SDK v1"](url)).call(tool, { ...args }),
      "AI SDK": async (tool, args) => (await openClient["AI SDK"](url)).call(tool, { ...args }),
      "MCP Inspector": async (tool, args) =>
        inspector.prints(
          "--cli",
          url,
          "--format=json",
          "--method",
          "tools/call",
          "--tool-name",
          tool,
          ...Object.entries(args).flatMap(([name, value]: [string, unknown]) => [
            "--tool-arg",
            `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
          ]),
        ),
      "holdfast call": async (tool, args) =>
        (await runMain(["call", url, tool, "--args", JSON.stringify(args)], { cwd: folder })).stdout,
    };
    const all = Object.entries(clients).map(async ([client, call]) => {
      for (const [tool, args, said] of calls)
        expect(JSON.stringify(await call(tool, args)), `${client}: ${tool}`).toContain(said);
    });
    await Promise.all(all);
  },
);
