import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/client/connect.ts";

const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "early", version: "1" },
};

/** A server of 2025-06-18 that treats whatever comes before `initialize` in its own way. */
async function earlier(
  onProbe: (response: ServerResponse) => unknown,
): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (text: Buffer) => (body += text.toString()));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method } = JSON.parse(body) as { id?: unknown; method: string };
      seen.push(method);
      if (method === "server/discover") return onProbe(response);
      if (id === undefined) return response.writeHead(202).end();
      const result = method === "initialize" ? initialized : { content: [] };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

it.each<[string, (response: ServerResponse) => unknown]>([
  ["holds", () => undefined],
  ["answers with HTTP 400", (response) => response.writeHead(400).end("bad request")],
  ["answers with HTTP 403", (response) => response.writeHead(403).end("<html>no</html>")],
  ["answers with HTTP 500", (response) => response.writeHead(500).end()],
  ["answers with HTTP 501", (response) => response.writeHead(501).end()],
  ["answers with a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>")],
  ["answers with nothing", (response) => response.writeHead(202).end()],
])("finds the earlier version of a server that %s before it is initialized", async (_what, onProbe) => {
  const { url } = await earlier(onProbe);
  const client = await connect(url, { probeTimeoutMs: 100 });
  onTestFinished(() => client.close());
  expect(client.sdk.getNegotiatedProtocolVersion()).toBe("2025-06-18");
  expect(await client.callTool("t")).toEqual({ content: [] });
});

it("does not wait again for a server that never answers before it is initialized", async () => {
  const { url, seen } = await earlier(() => undefined);
  for (const _ of [1, 2]) await (await connect(url, { probeTimeoutMs: 100 })).close();
  expect(seen.filter((method) => method === "server/discover")).toHaveLength(1);
});

it("does not ask for 2026-07-28 where an earlier version is asked for", async () => {
  const { url, seen } = await earlier(() => undefined);
  await (await connect(url, { protocolVersion: "earlier" })).close();
  expect(seen).not.toContain("server/discover");
});

it("finds the earlier version of a process that ignores what comes before it is initialized", async () => {
  const script = `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const result = method === "initialize" ? ${JSON.stringify(initialized)} : { content: [] };
      if (id !== undefined && method !== "server/discover") console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
  const client = await connect({ command: process.execPath, args: ["-e", script] }, { probeTimeoutMs: 100 });
  onTestFinished(() => client.close());
  expect(await client.callTool("t")).toEqual({ content: [] });
});
