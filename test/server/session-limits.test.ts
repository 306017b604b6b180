import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { SessionHost } from "./session-host.ts";

it("ends a session that nobody uses, and no other [B-105 B-106 B-111]", async () => {
  const host = new SessionHost({ sessionIdleMs: 1_000 });
  const [idle, busy] = [await host.open(), await host.open()];
  await host.clock.advance(600);
  await busy.call("echo", { say: "still here" });
  await host.clock.advance(600);
  expect((await idle.post({ id: 1, method: "ping" })).status).toBe(404);
  expect(await busy.request("ping")).toMatchObject({ result: {} });
  expect(host.sessions.size).toBe(1);
  await host.clock.advance(1_000);
  expect(host.sessions.size).toBe(0);
  expect(host.clock.armed).toBe(0);
});

it("keeps a session as long as a stream of it is open", async () => {
  const host = new SessionHost({ sessionIdleMs: 1_000 });
  const peer = await host.open();
  const leaving = new AbortController();
  await peer.listen(undefined, { signal: leaving.signal });
  await host.clock.advance(60_000);
  expect(host.sessions.size).toBe(1);
  leaving.abort();
  await host.clock.advance(999);
  expect(host.sessions.size).toBe(1);
  await host.clock.advance(1);
  expect(host.sessions.size).toBe(0);
});

it("keeps a session as long as a call is served, and ends the call's stream with the session [B-075]", async () => {
  const host = new SessionHost();
  const peer = await host.open();
  const asking = await peer.begin("tools/call", { name: "ask_user", arguments: {} });
  expect(await asking.message()).toMatchObject({ method: "elicitation/create" });
  await host.clock.advance(60_000);
  expect(host.sessions.size).toBe(1);
  await host.sessions.close();
  expect(await asking.message()).toBeUndefined();
  expect(host.sessions.size).toBe(0);
});

it("opens no more sessions than it may, and says when to come back", async () => {
  const host = new SessionHost({ maxSessions: 2 });
  const first = await host.open();
  await host.open();
  const refused = await host.peer().initialize();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
  expect(await refused.json()).toMatchObject({ jsonrpc: "2.0", id: 0, error: { code: -32000 } });
  expect((await first.send("DELETE")).status).toBe(200);
  expect((await host.peer().initialize()).status).toBe(200);
});

it("gives a place back when a handshake is refused", async () => {
  const host = new SessionHost({ maxSessions: 1 });
  const broken = await host.peer().post({ id: 0, method: "initialize", params: {} });
  expect(broken.status).toBe(400);
  const batch = ["a", "b"].map((id) => ({
    jsonrpc: "2.0",
    id,
    method: "initialize",
    params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "a", version: "1" } },
  }));
  expect((await host.peer().post(batch)).status).toBe(400);
  expect(host.sessions.size).toBe(0);
  expect((await (await host.open()).call("echo", { say: "in" }))["result"]).toMatchObject(text("in"));
});

it("opens one session for each client that comes at once [B-100 B-101]", async () => {
  const host = new SessionHost({ maxSessions: 3 });
  const opened = await Promise.all(Array.from({ length: 6 }, () => host.peer().initialize()));
  expect(opened.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200, 200, 200, 503, 503, 503,
  ]);
  const ids = opened.flatMap(({ headers }) => headers.get("mcp-session-id") ?? []);
  expect(new Set(ids).size).toBe(3);
  // Random enough that nobody finds another one's.
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it("forgets a session whose author closes its server [B-105 B-111]", async () => {
  const host = new SessionHost();
  const peer = await host.open();
  const stream = await peer.listen();
  await host.servers[0]?.close();
  expect(await stream.message()).toBeUndefined();
  expect((await peer.post({ id: 1, method: "ping" })).status).toBe(404);
  expect(host.clock.armed).toBe(0);
});

it("leaves no session behind that was being opened while it closed", async () => {
  const host = new SessionHost();
  const opening = host.peer().initialize();
  await host.sessions.close();
  await (await opening).text();
  expect([host.sessions.size, host.clock.armed]).toEqual([0, 0]);
});
