import type { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { SessionServer, SessionStream } from "../client/2025-11-25/session-server.ts";
import { rest } from "../../src/testing/clocks.ts";
import { type Message, text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";

interface Scene extends Served {
  /** Lets the tool go on. */
  readonly release: () => void;
  /** Resolves when the handler has begun. */
  readonly begun: Promise<void>;
}

/** A server whose own tool and durable tool wait for the test. */
async function scene(): Promise<Scene> {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const server = (mcp: McpServer): void => {
    mcp.server.registerCapabilities({ logging: {} });
    mcp.registerTool("leaves", {}, async ({ http }) => {
      http?.closeSSE?.();
      begun.resolve();
      await gate.promise;
      return text("came back");
    });
    mcp.registerTool("hush", {}, ({ http }) => (http?.closeStandaloneSSE?.(), text("hushed")));
    mcp.registerTool("say", { inputSchema: z.object({ word: z.string() }) }, async ({ word }, { mcpReq }) => {
      begun.resolve();
      await gate.promise;
      await mcpReq.log("info", word);
      return text(word);
    });
    mcp.registerTool("announce", {}, () => (mcp.sendToolListChanged(), text("announced")));
  };
  const served = await serve({
    tools: (tasks) =>
      tasks.tool("durable", {}, async () => {
        begun.resolve();
        await gate.promise;
        return text("kept");
      }),
    server,
  });
  return { ...served, release: gate.resolve, begun: begun.promise };
}

it("goes on where the server has closed a call's connection, as its tool asks it to [B-068 B-070 B-080 B-096]", async () => {
  const { http, release } = await scene();
  const peer = await SessionClient.open(http.url);
  const response = await peer.post({
    id: "c",
    method: "tools/call",
    params: { name: "leaves", arguments: {} },
  });
  // The connection ends without the response, once the client knows when and from where to go on.
  const written = await response.text();
  const [, id = ""] = /id: (\S+)\nretry: \d+\ndata: \n\n$/.exec(written) ?? [];
  expect(id).not.toBe("");
  expect(written).not.toContain("jsonrpc");
  release();
  const resumed = await peer.listen(id);
  expect(await resumed.rest()).toMatchObject([{ id: "c", result: text("came back") }]);
});

it("goes on where the server has closed the connection of the session's stream [B-087 B-088]", async () => {
  const { http } = await scene();
  const peer = await SessionClient.open(http.url);
  const listening = await peer.send("GET");
  await peer.call("announce");
  await peer.call("hush");
  const written = await listening.text(); // it has ended
  expect(written).toMatch(/id: \S+\nretry: \d+\ndata: \n\n/);
  expect(written).toContain("notifications/tools/list_changed");
  const last = /[^]*id: (\S+)\n/.exec(written)?.[1];
  await peer.call("announce"); // while nobody listens
  const again = await peer.listen(last);
  expect(await again.message()).toMatchObject({ method: "notifications/tools/list_changed" });
});

it("loses nothing with a connection that breaks, and brings nothing of another stream [B-077 B-078 B-096 B-097]", async () => {
  const { http, begun, release } = await scene();
  const peer = await SessionClient.open(http.url);
  await peer.request("logging/setLevel", { level: "info" });
  const gone = new AbortController();
  const { signal } = gone;
  const listening = await peer.listen(undefined, { signal });
  const calls = [];
  for (const word of ["one", "two"])
    calls.push(await peer.begin("tools/call", { name: "say", arguments: { word } }, { signal }));
  calls.push(await peer.begin("tools/call", { name: "durable", arguments: {} }, { signal }));
  const [session, one, two, durable] = await Promise.all(
    [listening, ...calls].map(async (stream) => (await stream.any())?.id),
  );
  await begun;
  gone.abort();
  release();
  const restOf = async (id: string | undefined): Promise<Message[]> => (await peer.listen(id)).rest();
  expect(await restOf(two)).toMatchObject([{ params: { data: "two" } }, { result: text("two") }]);
  expect(await restOf(durable)).toMatchObject([{ result: text("kept") }]);
  expect(await restOf(one)).toMatchObject([{ params: { data: "one" } }, { result: text("one") }]);
  const again = await peer.listen(session);
  await peer.call("announce");
  expect(await again.message()).toMatchObject({ method: "notifications/tools/list_changed" });
});

it("is asked for by our client with GET, when the pause that the server named is over [B-069 B-071 B-077 B-095 B-098]", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const server = await SessionServer.start();
  server.capabilities = { tools: {} };
  const [posted, resumed] = [new SessionStream(), new SessionStream()];
  const client = await server.connect();
  await server.sees("GET");
  server.script("tools/call", posted.begin);
  server.script("GET", resumed.begin);
  const call = client.callTool("publish_report");
  await server.sees("tools/call");
  const timers = vi.getTimerCount();
  await posted.write("id: event-7\nretry: 20000\ndata: \n\n");
  await posted.end();
  while (vi.getTimerCount() === timers) await rest();
  vi.advanceTimersByTime(19_999);
  await client.sdk.ping(); // what was sent before has arrived
  expect(server.of("GET")).toHaveLength(1);
  vi.advanceTimersByTime(1);
  await server.sees("GET", 2);
  expect(server.of("GET").map(({ lastEventId }) => lastEventId)).toEqual([undefined, "event-7"]);
  expect(server.of("tools/call")).toHaveLength(1);
  await resumed.send({ id: server.of("tools/call")[0]?.body["id"], result: text("late") }, "event-8");
  expect(await call).toEqual(text("late"));
});

it("is closed by our client with the client itself [B-087]", async () => {
  const server = await SessionServer.start();
  const closed = Promise.withResolvers<void>();
  server.script("GET", (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    response.once("close", closed.resolve);
  });
  const client = await server.connect();
  await server.sees("GET");
  await client.close();
  await closed.promise;
  expect(server.of("GET")).toHaveLength(1);
});
