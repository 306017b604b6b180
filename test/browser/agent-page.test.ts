import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connectAll } from "holdfast/host";
import { createNodeHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { serveEvents, showEvents } from "../../examples/agent/events.ts";
import type { HandleStore } from "../../src/client/handles/handle-store.ts";
import { describeHandleStore } from "../client/handles/store-cases.ts";
import { pageScript } from "../client/web-bundle.ts";
import { example } from "../docs/example-process.ts";
import { sourceOf, text } from "../host/source.ts";
import { chromiumOfFile, patience } from "./chromium-of-file.ts";

const chromium = chromiumOfFile();

/** By their sources. */
const scripts = new Map<string, ReturnType<typeof pageScript>>();

/** A page with this script, of a server that answers all else by `others`. */
async function pageWith(source: string, others: RequestListener = (_, response) => response.end()) {
  const script = scripts.get(source) ?? pageScript(source);
  scripts.set(source, script);
  const { code } = await script;
  const server = createServer((request, response) => {
    if (request.url !== "/" && request.url !== "/page.js") return others(request, response);
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(
      isScript ? code : '<!doctype html><main></main><script type="module" src="/page.js"></script>',
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const page = await chromium().newPage();
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(async () => {
    await page.close();
    server.closeAllConnections();
    server.close();
  });
  await page.goto(origin);
  return { page, origin };
}

const database = `
  import { indexedDbHandles } from ${JSON.stringify(example("browser/indexed-db-handles.ts"))};
  import { connect } from "holdfast/client";
  globalThis.store = indexedDbHandles();
  globalThis.run = (method, args) => store[method](...args);
  globalThis.connectTo = (url) => connect(url, { handles: store });
`;

/** The store of a page: every method runs there. */
async function storeOfPage(): Promise<HandleStore> {
  const { page } = await pageWith(database);
  await page.waitForFunction("globalThis.store");
  const run =
    (method: string) =>
    async (...args: unknown[]): Promise<unknown> =>
      page.evaluate(
        ([name, given]) =>
          (globalThis as unknown as { run: (name: string, given: unknown) => unknown }).run(name, given),
        [method, args] as const,
      );
  return new Proxy({} as HandleStore, {
    get: (_, method) => (method === "then" ? undefined : run(String(method))),
  });
}

describeHandleStore("indexedDbHandles", storeOfPage);

it("finds the calls of a page that was closed, in IndexedDB", patience, async () => {
  const tasks = createTasks({ store: memoryStore() });
  const { promise, resolve } = Promise.withResolvers<string>();
  tasks.tool("report", {}, async () => promise);
  const handler = createNodeHandler(tasks.server(() => new McpServer({ name: "reports", version: "1" })));
  await tasks.start();
  onTestFinished(async () => handler.close());
  const { page, origin } = await pageWith(database, handler);
  await page.waitForFunction("globalThis.connectTo");
  await page.evaluate(`connectTo("${origin}/mcp").then((client) => client.startTool("report", {}))`);
  await page.reload();
  await page.waitForFunction("globalThis.connectTo");
  resolve("June");
  const take = `(async () => {
    const client = await connectTo("${origin}/mcp");
    const [call] = await client.pending();
    const { content } = await (await call.take()).result();
    return [call.tool, content[0].text];
  })()`;
  expect(await page.evaluate(take)).toEqual(["report", "June"]);
});

it("opens IndexedDB again after it was refused, and after somebody has deleted it", patience, async () => {
  const { page } = await pageWith(database);
  await page.waitForFunction("globalThis.store");
  const count = "store.list().then(({ calls }) => calls.length, ({ message }) => message)";
  const kept = await page.evaluate(`(async () => {
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = () => { throw new Error("not now"); };
    const refused = await ${count};
    Object.assign(IDBFactory.prototype, { open });
    await store.keep({ key: "k", server: "s", generation: "g", tool: "t", args: {}, startedAt: 1, taskId: null });
    return [refused, await ${count}];
  })()`);
  expect(kept).toEqual(["not now", 1]);
  const deletion = `new Promise((resolve) => {
    const deleting = indexedDB.deleteDatabase("holdfast");
    deleting.onsuccess = () => resolve("deleted");
    deleting.onblocked = () => resolve("blocked");
  })`;
  expect(await page.evaluate(`${deletion}.then(async (how) => [how, await ${count}])`)).toEqual([
    "deleted",
    0,
  ]);
});

it(
  "shows the calls of a conversation and answers their questions, also after it was loaded again",
  patience,
  async () => {
    const host = await connectAll({
      tasks: createTasks({ store: memoryStore(), stopDeadlineMs: 0 }),
      servers: {
        shop: sourceOf("shop", {
          release: async (_args, task) => {
            await task.log("info", "Version 2 is built");
            await task.status("Packing");
            const requestedSchema = { type: "object", properties: {} } as const;
            const { action } = await task.elicit("sure", { message: "Release it?", requestedSchema });
            return text(action);
          },
        }),
      },
    });
    onTestFinished(async () => host.close());
    const chat = host.conversation("chat-1");
    const lines: string[] = [];
    const shown = showEvents(chat, (line) => lines.push(line));
    const script = `
    import { showCalls } from ${JSON.stringify(example("browser/main.tsx"))};
    showCalls(document.querySelector("main"), "/events");
  `;
    const { page } = await pageWith(script, (request, response) => {
      void serveEvents(chat, request, response);
    });
    const call = chat.call("shop__release", {}, { id: "call-1" });
    await page.getByText("shop__release: Packing").waitFor();
    await page.getByText("Version 2 is built").waitFor();
    await page.reload();
    await page.getByText("shop__release asks: Release it?").waitFor();
    await page.getByRole("button", { name: "Yes" }).click();
    expect((await call).result).toEqual(text("accept"));
    await vi.waitUntil(async () => (await page.getByRole("button").count()) === 0);
    await host.close();
    await shown;
    expect(lines).toEqual(
      expect.arrayContaining([
        "shop__release started",
        "shop__release [info] Version 2 is built",
        "shop__release Packing",
        "shop__release asks: Release it?",
        "shop__release ended",
      ]),
    );
  },
);
