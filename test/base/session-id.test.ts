import { connect, type ClientEvent } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { SessionServer } from "../client/2025-11-25/session-server.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";

it("comes with the answer to initialize, in visible ASCII, another one for each session [B-099 B-100 B-101]", async () => {
  const { http } = await serve({ tools: (tasks) => tasks.tool("bare", {}, () => text("bare")) });
  const ids = new Set<string>();
  for (let n = 0; n < 20; n++) {
    const opened = await new SessionClient(http.url).initialize();
    expect(opened.status).toBe(200);
    const id = opened.headers.get("mcp-session-id") ?? "";
    expect(id).toMatch(/^[\x21-\x7e]+$/);
    // Version 4: 122 random bits.
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    ids.add(id);
    await opened.body?.cancel();
  }
  expect(ids.size).toBe(20);
});

it("is in nothing that the client tells, nor in references [B-102]", async () => {
  const { http } = await serve({
    tools: (tasks) => tasks.tool("bare", {}, () => text("bare")),
    options: { pollIntervalMs: 50 },
  });
  const told: ClientEvent[] = [];
  let id = "";
  const client = await connect(http.url, {
    protocolVersion: "2025-11-25",
    onEvent: (event) => void told.push(event),
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      id ||= response.headers.get("mcp-session-id") ?? "";
      return response;
    },
  });
  onTestFinished(() => client.close());
  const handle = await client.startTool("bare");
  await handle.result();
  const failure: unknown = await client.callTool("no_such_tool").catch((error: unknown) => error);
  await client.close();
  expect(id).not.toBe("");
  const { message, stack } = failure as Error;
  expect(JSON.stringify([told, handle.reference, failure, message, stack])).not.toContain(id);
});

it("may be one that its server does not end by DELETE", async () => {
  const server = await SessionServer.start();
  server.script("DELETE", (response) => void response.writeHead(405, { allow: "GET, POST" }).end());
  const events: ClientEvent[] = [];
  const client = await server.connect({ onEvent: (event) => void events.push(event) });
  await client.sdk.listTools();
  await client.close();
  expect(server.of("DELETE")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: "disconnected", code: "closed" });
});

it("is left behind by the wait for a task where its server has ended the session [B-107]", async () => {
  const gate = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("gated", {}, async () => {
        await gate.promise;
        return text("through");
      });
    },
    http: { anonymous: "shared" },
    options: { pollIntervalMs: 50 },
  });
  const sessions: (string | null)[] = [];
  const client = await connect(http.url, {
    protocolVersion: "2025-11-25",
    pollFloorMs: 1,
    fetch: (url, init) => {
      const body = typeof init?.body === "string" ? init.body : "";
      const id = new Headers(init?.headers).get("mcp-session-id");
      if (body.includes('"initialize"')) sessions.push(id);
      return fetch(url, init);
    },
  });
  onTestFinished(() => client.close());
  const handle = await client.startTool("gated");
  const lost = new SessionClient(http.url);
  lost.sessionId = client.sdk.transport?.sessionId;
  expect((await lost.send("DELETE")).status).toBe(200);
  gate.resolve();
  expect(await handle.result()).toMatchObject(text("through"));
  expect(sessions).toEqual([null, null]);
  expect(client.sdk.transport?.sessionId).not.toBe(lost.sessionId);
});
