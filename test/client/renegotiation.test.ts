import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { connect } from "../../src/client/connect.ts";
import { created, completed, taskId } from "./answers.ts";
import { discovered, type Answer } from "./scripted-server.ts";

type Era = "2026-07-28" | "2025-06-18";

interface Request {
  readonly id?: unknown;
  readonly method: string;
}

/** An address behind which servers of two revisions replace each other. */
async function address(): Promise<{
  url: string;
  era: Era;
  seen: string[];
  isSilent: boolean;
  isBusy: boolean;
}> {
  const state = { url: "", era: "2026-07-28" as Era, seen: [] as string[], isSilent: false, isBusy: false };
  const sessions = new Set<string>();
  const early = ({ method }: Request): Answer => {
    if (method === "initialize") {
      const serverInfo = { name: "early", version: "1" };
      return { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } };
    }
    return {
      result: method === "tools/list" ? { tools: [] } : { content: [{ type: "text", text: "early" }] },
    };
  };
  const late = ({ method }: Request): Answer => {
    if (method === "server/discover") return { result: discovered };
    const data = { retryAfterMs: 1 };
    if (state.isBusy) return { error: { code: -32000, message: "Try again later", data } };
    if (method === "tools/call") return created({ pollIntervalMs: 1 });
    if (method === "tasks/get") return completed();
    return { error: { code: -32601, message: "Method not found" } };
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (text: Buffer) => (body += text.toString()));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const message = JSON.parse(body) as Request;
      const { id, method } = message;
      state.seen.push(`${state.era}: ${method}`);
      if (id === undefined) return response.writeHead(202).end();
      if (state.isSilent && method !== "tools/call") return undefined;
      const isEarly = state.era === "2025-06-18";
      const session = request.headers["mcp-session-id"];
      const refuse = (code: number, text: string): unknown => {
        response.writeHead(400, { "content-type": "application/json" });
        return response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: text } }));
      };
      if (!isEarly && request.headers["mcp-protocol-version"] !== "2026-07-28")
        return refuse(-32022, "Unsupported protocol version");
      if (isEarly && method === "initialize") {
        response.setHeader("mcp-session-id", "s1");
        sessions.add("s1");
      } else if (isEarly && !sessions.has(String(session)))
        return refuse(-32000, "Bad Request: Server not initialized");
      const answer = isEarly ? early(message) : late(message);
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...Object(answer) }));
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return state;
}

it("calls whichever server is there, and finds the task of the first once that is back", async () => {
  const server = await address();
  const client = await connect(server.url, { listen: false, pollFloorMs: 1 });
  onTestFinished(() => client.close());
  const handle = await client.startTool("t");
  expect(handle.reference).toMatchObject({ taskId, generation: "2026-07-28" });
  server.era = "2025-06-18";
  const early = { content: [{ type: "text", text: "early" }] };
  expect(await client.callTool("t")).toEqual(early);
  expect(await client.listTools()).toEqual({ tools: [], problems: [] });
  server.seen.length = 0;
  expect(await client.callTool("t")).toEqual(early);
  expect(server.seen).toEqual(
    ["2025-06-18: tools/list", "2025-06-18: tools/call"].slice(-server.seen.length),
  );
  server.era = "2026-07-28";
  expect(await client.callTool("t")).toMatchObject({ content: [{ type: "text", text: "sent" }] });
  expect(await (await client.resume(handle.reference)).result()).toMatchObject({
    content: [{ text: "sent" }],
  });
});

it("sends a refused call once to a server that speaks what it spoke before", async () => {
  const server = await address();
  server.era = "2025-06-18";
  const client = await connect(server.url, { protocolVersion: "2025-06-18" });
  onTestFinished(() => client.close());
  server.era = "2026-07-28";
  await expect(client.readResource("a://b")).rejects.toMatchObject({ code: "rpc" });
  expect(server.seen.filter((line) => line.endsWith("resources/read"))).toHaveLength(1);
});

it("does not connect again to a server that is busy and says when to come back", async () => {
  const server = await address();
  const client = await connect(server.url, { listen: false });
  onTestFinished(() => client.close());
  server.isBusy = true;
  await expect(client.callTool("t")).rejects.toMatchObject({ code: "rpc", error: { code: -32000 } });
  expect(server.seen.filter((line) => line.endsWith("server/discover"))).toHaveLength(1);
});

it("lets go whoever gives up, or closes, while a server that it connects to again says nothing", async () => {
  const server = await address();
  const client = await connect(server.url, { listen: false });
  server.era = "2025-06-18";
  server.isSilent = true;
  server.seen.length = 0;
  const controller = new AbortController();
  const given = client.callTool("t", {}, { signal: controller.signal });
  const other = client.callTool("t");
  const ends = Promise.allSettled([given, other]);
  await vi.waitUntil(() => server.seen.length > 2);
  controller.abort(new Error("no patience"));
  await expect(given).rejects.toThrow("no patience");
  await client.close();
  const [, { status }] = await ends;
  expect(status).toBe("rejected");
});
