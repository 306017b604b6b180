import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { authorsOwn } from "./session-server.ts";

function own(setup: Partial<Parameters<typeof serve>[0]> = {}): Promise<Served> {
  return serve({
    tools: (tasks) => tasks.tool("bare", {}, () => text("bare")),
    server: authorsOwn,
    ...setup,
  });
}

it.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
  "serves %s in a session",
  async (version) => {
    const { http } = await own();
    const peer = new SessionClient(http.url, { version });
    const response = await peer.initialize();
    peer.sessionId = response.headers.get("mcp-session-id") ?? "none";
    expect(await new EventStream(response).message()).toMatchObject({
      result: { protocolVersion: version, serverInfo: { name: "reports" } },
    });
    expect((await peer.post({ method: "notifications/initialized" })).status).toBe(202);
    expect(await peer.request("ping")).toMatchObject({ result: {} });
    expect(await peer.call("echo", { say: "hi" })).toMatchObject({ result: text("hi") });
    expect(await peer.request("tools/list")).toMatchObject({
      result: { tools: expect.any(Array) as unknown },
    });
    expect(await peer.request("resources/read", { uri: "test://note" })).toMatchObject({
      result: { contents: [{ text: "a note" }] },
    });
    expect(await peer.request("prompts/get", { name: "greeting" })).toMatchObject({
      result: { messages: [{ role: "user" }] },
    });
  },
);

it("serves both eras at once on one endpoint [B-P-011]", async () => {
  const { http } = await own();
  const [earlier, newest] = [await SessionClient.open(http.url), new StatelessClient(http.url)];
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, n) =>
      n % 2 === 0
        ? (await earlier.call("echo", { say: `${n}` }))["result"]
        : newest.result("tools/call", { name: "echo", arguments: { say: `${n}` } }),
    ),
  );
  for (const [n, answer] of answers.entries()) expect(answer).toMatchObject(text(`${n}`));
});

it("knows nobody without a session, or in one that is over [A-36 A-37 B-075 B-104 B-106 B-110]", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url);
  const stranger = new SessionClient(http.url);
  for (const method of ["POST", "GET", "DELETE"]) {
    const body = method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) } : {};
    stranger.sessionId = undefined;
    const missing = await stranger.send(method, body);
    expect(missing.status).toBe(400);
    expect(await missing.json()).toMatchObject({ id: null, error: { code: -32000 } });
    stranger.sessionId = "8f8b0a0c-0000-4000-8000-000000000000";
    const unknown = await stranger.send(method, body);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ id: null, error: { code: -32001 } });
  }
  const stream = await peer.listen();
  expect((await peer.send("DELETE")).status).toBe(200);
  expect(await stream.message()).toBeUndefined();
  for (const method of ["POST", "GET", "DELETE"]) {
    const body = method === "POST" ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) } : {};
    expect((await peer.send(method, body)).status).toBe(404);
  }
  expect((await peer.send("PUT")).status).toBe(405);
});

it("shows a session to who opened it alone", async () => {
  const { http } = await own({
    http: { authenticate: async ({ headers }) => headers.get("authorization") ?? undefined },
  });
  const ann = await SessionClient.open(http.url, { headers: { authorization: "ann" } });
  const bob = new SessionClient(http.url, { headers: { authorization: "bob" } });
  bob.sessionId = ann.sessionId;
  for (const method of ["GET", "DELETE"]) expect((await bob.send(method)).status).toBe(404);
  const response = await bob.post({ id: 1, method: "ping" });
  expect([response.status, await response.json()]).toEqual([
    404,
    { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
  ]);
  expect(await ann.request("ping")).toMatchObject({ result: {} });
  expect((await new SessionClient(http.url).initialize()).status).toBe(401);
});

it("lets an author's tools ask the client, on the stream of the call [B-073]", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url);
  const asked = async (tool: string, result: object): Promise<unknown> => {
    const stream = await peer.begin("tools/call", { name: tool, arguments: {} });
    const question = await stream.message();
    expect((await peer.post({ id: question?.["id"], result })).status).toBe(202);
    return (await stream.message())?.["result"];
  };
  expect(await asked("ask_user", { action: "accept", content: { name: "Ann" } })).toMatchObject(
    text('user: accept {"name":"Ann"}'),
  );
  const content = { type: "text", text: "Paris" };
  expect(await asked("ask_model", { role: "assistant", model: "m", content })).toMatchObject(
    text(`model: ${JSON.stringify(content)}`),
  );
});

it("tells on the stream of the session what belongs to no request [B-084]", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url);
  const stream = await peer.listen();
  const called = peer.call("roots");
  const question = await stream.message();
  expect(question).toMatchObject({ method: "roots/list" });
  await peer.post({ id: question?.["id"], result: { roots: [{ uri: "file:///a" }] } });
  expect(await called).toMatchObject({ result: text("roots: file:///a") });
  await peer.call("announce");
  expect(await stream.message()).toMatchObject({ method: "notifications/tools/list_changed" });
});

it("sends progress and logs of a call on its stream [B-072 B-073 B-130]", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url);
  await peer.request("logging/setLevel", { level: "info" });
  const params = { name: "progress", arguments: {}, _meta: { progressToken: "p" } };
  expect(await (await peer.begin("tools/call", params)).rest()).toMatchObject([
    { method: "notifications/progress", params: { progressToken: "p", progress: 1 } },
    { method: "notifications/message", params: { level: "info", data: "half way" } },
    { result: text("progressed") },
  ]);
});
