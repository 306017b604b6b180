import type { McpServer } from "@modelcontextprotocol/server";
import { ResourceTemplate, UrlElicitationRequiredError } from "@modelcontextprotocol/server";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { sent } from "../client/answers.ts";
import { setUp } from "../client/setup.ts";
import { SessionServer } from "../client/2025-11-25/session-server.ts";
import { text, withoutTasks } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { sourceFiles } from "../source-files.ts";

function own(server: McpServer): void {
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true } });
  server.registerTool("echo", {}, () => text("echo"));
  server.registerResource("note", "test://note", {}, ({ href }) => ({
    contents: [{ uri: href, text: "a note" }],
  }));
  const template = new ResourceTemplate("test://pages/{page}", { list: undefined });
  server.registerResource("pages", template, {}, ({ href }) => ({ contents: [{ uri: href, text: "page" }] }));
  server.registerPrompt("greeting", {}, () => ({
    messages: [{ role: "user", content: { type: "text", text: "Say hello." } }],
  }));
}

function served(): Promise<Served> {
  return serve({ tools: (tasks) => tasks.tool("bare", {}, () => text("bare")), server: own });
}

it("knows none of the methods that sessions had", async () => {
  const { http } = await served();
  const peer = new StatelessClient(http.url);
  for (const method of [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
  ]) {
    const { status, error } = await peer.send(method, { level: "info", uri: "test://note" });
    expect([method, status, error?.code]).toEqual([method, 404, -32601]);
  }
});

it("has none of them from our client [B-P-004]", async () => {
  const { server, client } = await setUp({ capabilities: { roots: { listChanged: true } } });
  const { sdk } = client;
  for (const send of [
    () => sdk.ping(),
    () => sdk.setLoggingLevel("info"),
    () => sdk.subscribeResource({ uri: "test://note" }),
    () => sdk.unsubscribeResource({ uri: "test://note" }),
    () => sdk.sendRootsListChanged(),
  ]) {
    await expect(send()).rejects.toThrow();
  }
  expect(server.seen.map(({ method }) => method)).toEqual(["server/discover"]);
});

it("says of lists, reads and the server for how long and for whom they may be kept [B-P-007]", async () => {
  const { http } = await served();
  const peer = new StatelessClient(http.url);
  const log = `task://${await peer.start("bare")}/log`; // ours, beside the author's
  for (const [method, params] of [
    ["server/discover", {}],
    ["tools/list", {}],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["resources/read", { uri: "test://note" }],
    ["resources/read", { uri: log }],
    ["prompts/list", {}],
  ] as const) {
    const { ttlMs, cacheScope } = await peer.result(method, params, {
      headers: { "Mcp-Name": nameIn(params) },
    });
    expect([method, typeof ttlMs]).toEqual([method, "number"]);
    expect(Number(ttlMs)).toBeGreaterThanOrEqual(0);
    expect(["private", "public"]).toContain(cacheScope);
  }
});

function nameIn(params: object): string | undefined {
  return "uri" in params ? String(params.uri) : undefined;
}

it("answers -32602 to a resource that there is not [B-P-005]", async () => {
  const { http } = await served();
  const uri = "test://no-such-note";
  const { error } = await new StatelessClient(http.url).send(
    "resources/read",
    { uri },
    { headers: { "Mcp-Name": uri } },
  );
  expect(error).toMatchObject({ code: -32602 });
});

it.each(["optional", "forbidden"] as const)(
  "tells of an address that a tool wants opened (task: %s) by another code than earlier revisions [B-P-005]",
  async (task) => {
    const elicitation = {
      mode: "url" as const,
      elicitationId: "e",
      url: "https://pay.example",
      message: "Pay first",
    };
    const { http } = await serve({
      tools: (tasks) =>
        tasks.tool("pay", { task }, () => {
          throw new UrlElicitationRequiredError([elicitation]);
        }),
    });
    const peer = new StatelessClient(http.url);
    const plain = (await peer.call("pay", {}, { capabilities: withoutTasks })).error;
    const known = task === "optional" ? (await peer.ended(await peer.start("pay")))["error"] : plain;
    for (const error of [plain, known]) {
      expect(error).toMatchObject({ code: -32603, data: { elicitations: [elicitation] } });
    }
    const earlier = await SessionClient.open(http.url);
    expect((await earlier.call("pay"))["error"]).toMatchObject({
      code: -32042,
      data: { elicitations: [elicitation] },
    });
  },
);

it("sends no code of the protocol's own range but those that it defines [B-P-006]", async () => {
  // Header mismatch, missing capability, unsupported version; and the one of earlier revisions that is replaced.
  const defined = [-32020, -32021, -32022, -32042];
  const codes = new Set<number>();
  for (const source of (await sourceFiles("src", [".ts"])).values()) {
    for (const [code] of source.matchAll(/-32_?0\d\d\b/g)) codes.add(Number(code.replace("_", "")));
  }
  expect(codes.size).toBeGreaterThan(2);
  for (const code of codes) if (code <= -32020) expect(defined).toContain(code);
});

it.each([
  ["a subscription", "subscriptions/listen", { notifications: { toolsListChanged: true } }],
  ["a call of an author's tool", "tools/call", { name: "counts", arguments: {} }],
  ["a call of a durable tool without a task", "tools/call", { name: "reports", arguments: {} }],
])("asks proxies not to hold the stream of %s back [B-P-009]", async (_, method, params) => {
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("reports", {}, async (_args, task) => {
        task.progress(1);
        await task.step("count", () => 1);
        return text("reported");
      }),
    server: (mcp) =>
      mcp.registerTool("counts", {}, async ({ mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken ?? "none";
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
        return text("counted");
      }),
  });
  const answered = await fetch(http.url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...("name" in params && { "Mcp-Name": params.name }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          progressToken: "p",
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  expect([answered.headers.get("content-type"), answered.headers.get("x-accel-buffering")]).toEqual([
    "text/event-stream",
    "no",
  ]);
  await answered.body?.cancel();
});

it("drops tools of a list whose headers are not valid, and repeats the parameters of the others [B-P-008]", async () => {
  const { server, client } = await setUp();
  const wants = (header: string): object => ({
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": header } },
  });
  const tools = [
    { name: "render_report", inputSchema: wants("Re gion") },
    { name: "publish_report", inputSchema: wants("Region") },
  ];
  const list = { result: { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" } };
  server.script("tools/list", list, list);
  for (const listed of [await client.sdk.listTools(), await client.listTools()])
    expect(listed.tools.map(({ name }) => name)).toEqual(["publish_report"]);
  server.script("tools/list", list);
  const { problems } = await client.listTools();
  expect(problems).toEqual(['tool "render_report": its x-mcp-header is invalid']);
  server.script("tools/call", { result: { resultType: "complete", ...sent } });
  await client.callTool("publish_report", { region: "eu" });
  expect(server.of("tools/call")[0]?.headers["mcp-param-region"]).toBe("eu");
});

it("is tried first by our client, which goes back to initialize and does not try again [B-P-010 X-P-017]", async () => {
  const server = await SessionServer.start();
  const client = await connect(server.url, { pollFloorMs: 1 });
  onTestFinished(() => client.close());
  expect(client.sdk.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  await server.sees("GET");
  server.forgetSession();
  await client.sdk.listTools();
  expect(server.seen.map(({ what }) => what).filter((what) => /discover|initialize$/.test(what))).toEqual([
    "server/discover",
    "initialize",
    "initialize",
  ]);
  const { http } = await served();
  const newer = await connect(http.url);
  onTestFinished(() => newer.close());
  expect(newer.sdk.getNegotiatedProtocolVersion()).toBe("2026-07-28");
});

it("has a call called off by our client, which closes its stream and sends no notification [X-B-016 B-P-003]", async () => {
  const [begun, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("waits", { task: "forbidden" }, async (_, task) => {
        task.signal.addEventListener("abort", () => stopped.resolve());
        begun.resolve();
        await stopped.promise;
        return text("never");
      }),
  });
  const methods: string[] = [];
  const client = await connect(http.url, {
    protocolVersion: "2026-07-28",
    fetch: (url, init) => {
      methods.push(new Headers(init?.headers).get("mcp-method") ?? "none");
      return fetch(url, init);
    },
  });
  onTestFinished(() => client.close());
  const leaving = new AbortController();
  const call = client.callTool("waits", {}, { signal: leaving.signal });
  await begun.promise;
  leaving.abort(new Error("no patience"));
  await expect(call).rejects.toThrow("no patience");
  await stopped.promise;
  await client.sdk.listTools();
  expect(methods).not.toContain("notifications/cancelled");
});
