import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createNodeHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { pageScript } from "../client/web-bundle.ts";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";

const chromium = chromiumOfFile();

const script = `
  import { connect, fileHandles, memoryHandles, TaskClientError } from "holdfast/client";
  globalThis.run = async (url, protocolVersion) => {
    const handles = memoryHandles();
    const questions = [];
    const onInput = async ({ params }) => {
      questions.push(params.message);
      return { action: "accept", content: { title: "June" } };
    };
    const client = await connect(url, { handles, onInput, protocolVersion });
    const started = await client.startTool("report", {});
    const reference = JSON.parse(JSON.stringify(started.reference));
    await client.close();
    const again = await connect(url, { handles, onInput, protocolVersion });
    const { content } = await (await again.resume(reference)).result();
    const failure = await again.callTool("nothing", {}).catch((error) => error);
    await again.close();
    return { text: content[0].text, questions, isOurs: failure instanceof TaskClientError };
  };
  const refusal = (work) => work().then(() => "none", (error) => error.message);
  globalThis.refused = async (url) => [
    await refusal(() => connect({ command: "node" })),
    await refusal(() => connect(url, { handles: "handles.db" })),
    await refusal(() => connect(url, { receiveTasks: { store: { open() {} } }, onInput: async () => ({}) })),
    await refusal(async () => fileHandles("handles.db")),
  ];
`;

it(
  "runs the client in a page: a task with a question, found again, in both revisions",
  patience,
  async () => {
    const tasks = createTasks({ store: memoryStore() });
    tasks.tool("report", {}, async (_, task) => {
      const { content } = await task.elicit("title", {
        message: "Which title?",
        requestedSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
      });
      return { content: [{ type: "text", text: String(content?.["title"]) }] };
    });
    const handler = createNodeHandler(tasks.server(() => new McpServer({ name: "reports", version: "1" })));
    await tasks.start();
    const { code } = await pageScript(script);
    const server = createServer((request, response) => {
      if (request.url?.startsWith("/mcp") === true) {
        handler(request, response);
        return;
      }
      const isScript = request.url === "/page.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? code : '<!doctype html><script type="module" src="/page.js"></script>');
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(async () => {
      await handler.close();
      server.closeAllConnections();
      server.close();
    });
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const page = await chromium().newPage();
    onTestFinished(() => page.close());
    await page.addInitScript("for (const name of ['randomUUID', 'subtle']) delete Crypto.prototype[name]"); // as in a page without TLS
    await page.goto(origin);
    await page.waitForFunction("globalThis.run");
    for (const version of ["2026-07-28", "2025-11-25"])
      expect(await page.evaluate(`run("${origin}/mcp", "${version}")`)).toEqual({
        text: "June",
        questions: ["Which title?"],
        isOurs: true,
      });
    expect(await page.evaluate(`refused("${origin}/mcp")`)).toEqual([
      "A server that is a process needs Node, Bun or Deno. In a browser or a worker, connect to the URL of a server.",
      "A file of handles needs Node, Bun or Deno. In a browser or a worker, pass a store of your own as handles, or memoryHandles().",
      "receiveTasks needs Node, Bun or Deno. In a browser or a worker, leave it out: questions are then plain requests.",
      "A file of handles needs Node, Bun or Deno. In a browser or a worker, pass a store of your own as handles, or memoryHandles().",
    ]);
  },
);
