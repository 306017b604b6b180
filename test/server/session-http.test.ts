import { McpServer, requireScopes } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler, type HttpOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";
import { authorsOwn } from "./session-server.ts";

function own(http: HttpOptions = {}): Promise<Served> {
  return serve({ tools: (tasks) => tasks.tool("bare", {}, () => text("bare")), server: authorsOwn, http });
}

it("ends all streams when it closes, and answers what it can before", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: () => undefined,
    options: { stopDeadlineMs: 30_000 },
    server: (mcp) => {
      mcp.registerTool("gated", {}, async () => {
        begun.resolve();
        await gate.promise;
        return text("answered");
      });
    },
  });
  const [calling, listening] = [await SessionClient.open(http.url), await SessionClient.open(http.url)];
  const stream = await listening.listen();
  const answer = calling.call("gated");
  await begun.promise;
  const closed = http.close();
  gate.resolve();
  expect(await answer).toMatchObject({ result: text("answered") });
  expect(await stream.message()).toBeUndefined();
  await closed;
  await expect(calling.request("ping")).rejects.toThrow();
});

it("ends a call that does not end, and every session, when its handler is closed", async () => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  const aborted = Promise.withResolvers<void>();
  const handler = createFetchHandler(
    tasks.server(() => {
      const mcp = new McpServer({ name: "reports", version: "1" });
      mcp.registerTool("forever", {}, ({ mcpReq }) => {
        mcpReq.signal.addEventListener("abort", () => aborted.resolve());
        return new Promise(() => undefined);
      });
      return mcp;
    }),
    { allowedHosts: "any" },
  );
  await tasks.start();
  const peer = await SessionClient.open("http://reports.example/mcp", {}, (url, init) =>
    handler.fetch(new Request(url, init)),
  );
  const stream = await peer.listen();
  const call = await peer.begin("tools/call", { name: "forever", arguments: {} });
  await handler.close();
  expect([await stream.message(), await call.message()]).toEqual([undefined, undefined]);
  await aborted.promise;
  expect((await peer.post({ id: 1, method: "ping" })).status).toBe(503);
  await tasks.stop();
});

it("has neither streams nor sessions where there are to be none [B-083 B-099 B-109]", async () => {
  const { http } = await own({ sessions: false });
  const peer = new SessionClient(http.url);
  const opened = await peer.initialize();
  expect([opened.status, opened.headers.get("mcp-session-id")]).toEqual([200, null]);
  for (const method of ["GET", "DELETE"]) {
    const refused = await peer.send(method);
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await refused.json()).toMatchObject({ id: null, error: { code: -32000 } });
  }
  expect((await peer.post({ method: "notifications/initialized" })).status).toBe(202);
  const answers = await Promise.all(
    // All with one id, which must not mix them up.
    Array.from({ length: 50 }, async (_, n) => {
      const params = { name: "echo", arguments: { say: `${n}` } };
      return new EventStream(await peer.post({ id: 7, method: "tools/call", params })).message();
    }),
  );
  for (const [n, answer] of answers.entries()) expect(answer).toMatchObject({ result: text(`${n}`) });
});

it("says what the SDK says of a request that is none [B-063 B-115]", async () => {
  const { http } = await own({ maxRequestBodySize: 1_000 });
  const peer = await SessionClient.open(http.url);
  const status = async (init: RequestInit): Promise<number> => (await peer.send("POST", init)).status;
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  expect(await status({ body: ping, headers: { accept: "text/event-stream" } })).toBe(406);
  expect(await status({ body: ping, headers: { "content-type": "text/plain" } })).toBe(415);
  expect(await status({ body: "{" })).toBe(400);
  expect(await status({ body: " ".repeat(1_001) })).toBe(413);
  expect(await status({ body: ping, headers: { "mcp-protocol-version": "1999-01-01" } })).toBe(400);
  expect((await peer.send("GET", { headers: { accept: "application/json" } })).status).toBe(406);
  expect((await peer.initialize()).status).toBe(400);
});

it("tells a browser what it has opened", async () => {
  const { http } = await own();
  const open = (accept: string): Promise<Response> => fetch(http.url, { headers: { accept } });
  const seen = await open("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
  expect([seen.status, await seen.text()]).toEqual([
    406,
    expect.stringContaining("give it to an MCP client"),
  ]);
  expect((await open("text/event-stream")).status).toBe(400);
});

it("serves a batch where the SDK does", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url, { version: "2025-03-26" });
  const batch = ["a", "b"].map((id) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "echo", arguments: { say: id } },
  }));
  const answers = await new EventStream(await peer.post(batch)).rest();
  expect(new Map(answers.map(({ id, result }) => [id, result]))).toMatchObject(
    new Map([
      ["a", text("a")],
      ["b", text("b")],
    ]),
  );
});

it.each([
  ["2025-11-25", true],
  ["2025-11-25", false],
  ["2025-06-18", true],
  ["2025-06-18", false],
])("refuses a batch in %s, which has none, with sessions: %s", async (version, sessions) => {
  const calls: string[] = [];
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("note", { task: "forbidden" }, () => (calls.push("note"), text("noted")));
    },
    http: { sessions },
  });
  const peer = await SessionClient.open(http.url, { version });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "note", arguments: {} } };
  for (const batch of [[call], [call, { ...call, id: 2 }], [{ jsonrpc: "2.0", method: "notifications/x" }]]) {
    const refused = await peer.post(batch, { headers: { "mcp-protocol-version": version } });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32600, message: expect.stringContaining(version) as unknown },
      },
    ]);
  }
  expect(calls).toEqual([]);
});

it.each([true, false])(
  "refuses a batch whose header says 2026-07-28, with sessions: %s",
  async (sessions) => {
    const { http } = await own({ sessions });
    const headers = { "mcp-protocol-version": "2026-07-28" };
    const refused = await new SessionClient(http.url).post([{ jsonrpc: "2.0", id: 1, method: "ping" }], {
      headers,
    });
    const message = expect.stringContaining("2026-07-28 does not support batches") as unknown;
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32600, message } }]);
  },
);

it("refuses a batch in a session by the version of the session, where the request names none", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url);
  const refused = await fetch(http.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": peer.sessionId ?? "",
    },
    body: JSON.stringify([{ jsonrpc: "2.0", id: 1, method: "ping" }]),
  });
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32600 } }]);
});

it.each([true, false])(
  "tells nobody why an author's server could not be made, with sessions: %s",
  async (sessions) => {
    const { http, errors } = await serve({
      tools: () => undefined,
      http: { sessions },
      server: () => {
        throw new Error("database password is hunter2");
      },
    });
    const response = await new SessionClient(http.url).initialize();
    expect([response.status, await response.json()]).toEqual([
      500,
      { jsonrpc: "2.0", id: 0, error: { code: -32603, message: "Internal server error" } },
    ]);
    expect(errors).toMatchObject([{ message: "database password is hunter2" }]);
  },
);

it.each([true, false])(
  "answers a question about a task as plain JSON, with sessions: %s [C-054]",
  async (sessions) => {
    const { http } = await serve({
      tools: (tasks) => tasks.tool("bare", {}, () => text("bare")),
      http: { sessions, anonymous: "shared" },
    });
    const peer = await SessionClient.open(http.url);
    const started = await peer.request("tools/call", { name: "bare", arguments: {}, task: {} });
    const { taskId } = (started["result"] as { task: { taskId: string } }).task;
    for (const method of ["tasks/get", "tasks/list", "tasks/cancel"]) {
      const response = await peer.post({ id: method, method, params: { taskId } });
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(response.headers.get("mcp-session-id")).toBe(peer.sessionId ?? null);
      expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: method });
    }
    // Errors too; and whatever the transport itself refuses stays a refusal.
    const unknown = await peer.post({ id: 1, method: "tasks/get", params: { taskId: "none" } });
    expect([unknown.status, await unknown.json()]).toMatchObject([200, { id: 1, error: { code: -32602 } }]);
    const params = { taskId };
    const bare = await peer.post(
      { id: 1, method: "tasks/get", params },
      { headers: { accept: "text/plain" } },
    );
    expect(bare.status).toBe(406);
    const batch = await peer.post([{ jsonrpc: "2.0", id: 1, method: "tasks/get", params }]);
    // Without sessions, a request that names no version is of 2025-03-26, which has batches.
    if (sessions) expect(batch.status).toBe(400);
    else expect(batch.headers.get("content-type")).toBe("text/event-stream");
    await batch.body?.cancel();
  },
);

it("ends the stream of a batch that cancels its own request, without sessions too", async () => {
  for (const sessions of [true, false]) {
    const { http } = await serve({
      tools: () => undefined,
      http: { sessions },
      server: (mcp) => void mcp.registerTool("forever", {}, () => new Promise(() => undefined)),
    });
    const peer = await SessionClient.open(http.url, { version: "2025-03-26" });
    const call = { method: "tools/call", params: { name: "forever", arguments: {} } };
    const cancel = { method: "notifications/cancelled", params: { requestId: "c" } };
    const batch = [{ id: "c", ...call }, cancel, { id: "p", method: "ping" }].map((message) => ({
      jsonrpc: "2.0",
      ...message,
    }));
    expect(await new EventStream(await peer.post(batch)).rest()).toMatchObject([{ id: "p", result: {} }]);
    expect(await new EventStream(await peer.post(batch.slice(0, 2))).rest()).toEqual([]);
  }
});

it.each([true, false])("lets an author's server ask for more scopes, with sessions: %s", async (sessions) => {
  const { http } = await serve({
    tools: () => undefined,
    http: {
      sessions,
      authenticate: async () => ({
        principal: "ann",
        authInfo: {
          token: "t",
          clientId: "c",
          scopes: ["read"],
          resource: new URL("https://reports.example/mcp"),
        },
      }),
    },
    server: (mcp) => {
      const scopeChallenge = requireScopes("read", "write");
      mcp.registerTool("save", { scopeChallenge }, () => text("saved"));
      mcp.registerTool("load", { scopeChallenge: requireScopes("read") }, () => text("loaded"));
    },
  });
  const peer = await SessionClient.open(http.url);
  expect(await peer.call("load")).toMatchObject({ result: text("loaded") });
  const refused = await peer.post({ id: 1, method: "tools/call", params: { name: "save", arguments: {} } });
  expect(refused.status).toBe(403);
  const challenge = refused.headers.get("www-authenticate");
  expect(challenge).toContain('error="insufficient_scope"');
  expect(challenge).toContain('scope="read write"');
  expect(challenge).toContain(
    'resource_metadata="https://reports.example/.well-known/oauth-protected-resource/mcp"',
  );
});

it("answers a request about a task as JSON unless it waits, and refuses what is wrong with it [B-065]", async () => {
  const open = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("bare", {}, async () => {
        await open.promise;
        return text("bare");
      }),
    http: { anonymous: "shared" },
  });
  const peer = await SessionClient.open(http.url);
  const { result } = await peer.request("tools/call", { name: "bare", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const ask = { id: 1, method: "tasks/get", params: { taskId } };
  const [json, stream] = ["application/json", "text/event-stream"];
  const answered = async (message: object, headers: Record<string, string> = {}): Promise<unknown[]> => {
    const response = await peer.post(message, { headers });
    await response.body?.cancel();
    return [response.status, response.headers.get("content-type")];
  };
  expect(await answered(ask, { accept: stream })).toEqual([406, json]);
  expect(await answered(ask, { "mcp-protocol-version": "1999-01-01" })).toEqual([400, json]);
  expect(await answered(ask, { "mcp-protocol-version": "2025-06-18" })).toEqual([200, json]);
  expect(await answered([{ jsonrpc: "2.0", ...ask }])).toEqual([400, json]);
  expect(await answered({ ...ask, method: "tasks/result" })).toEqual([200, stream]);
  open.resolve();
  expect(await peer.request("tasks/result", { taskId })).toMatchObject({ result: text("bare") });
  const settled = await peer.post({ ...ask, method: "tasks/result" });
  expect([settled.headers.get("content-type"), await settled.json()]).toMatchObject([
    json,
    { id: 1, result: text("bare") },
  ]);
  expect(await answered({ ...ask, method: "tasks/result", params: { taskId: "none" } })).toEqual([
    200,
    stream,
  ]);
});

it.each([
  ["sessionIdleMs", 0],
  ["sessionIdleMs", Number.NaN],
  ["maxSessions", -1],
])("refuses %s of %s", async (name, value) => {
  await expect(own({ [name]: value })).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining(name) as unknown,
  });
});
