import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { error, json, SessionServer, type Seen } from "../2025-11-25/session-server.ts";
import { setUpCore } from "../2025-11-25/core-peer.ts";
import { FakeClock } from "../fake-clock.ts";
import { askedFor, creating, relatedKey, setUpSep, task, taskKey } from "./sep-peer.ts";

/** The pause after a first failure, with no jitter. */
const firstRetryMs = 125;
const uri = "test://report";
const report = { contents: [{ uri, text: "14 pages" }] };
const hello = { messages: [{ role: "user", content: { type: "text", text: "Hello" } }] };
const text = { contents: [{ text: "14 pages" }] };

it("reads a resource as a task, and polls for it after the created notification [S-002 S-006 S-008 S-016]", async () => {
  const { peer, client } = await setUpSep();
  peer.script("resources/read", creating(peer));
  peer.script("tasks/get", task("working"), task("completed"));
  peer.script("tasks/result", { result: report });
  expect(await client.readResource(uri, { ttlMs: 1000 })).toEqual(report);
  const [params] = peer.params("resources/read");
  const { taskId } = askedFor(params);
  expect(params).toEqual({ uri, _meta: { [taskKey]: { taskId, keepAlive: 1000 } } });
  expect(peer.params("tasks/result")).toEqual([{ taskId, _meta: { [relatedKey]: { taskId } } }]);
});

it("gets a prompt as a task, and takes the answer where that comes first [S-002 S-016]", async () => {
  const setup = await setUpSep();
  const { peer, client, clock } = setup;
  clock.hold();
  peer.script("prompts/get", creating(peer));
  peer.script("tasks/get", task("working"));
  const getting = client.getPrompt("hello", { name: "Ann" });
  await clock.nap(2000);
  expect(peer.params("prompts/get")).toMatchObject([{ name: "hello", arguments: { name: "Ann" } }]);
  peer.answer(peer.of("prompts/get")[0]?.["id"], { result: hello });
  expect(await getting).toEqual(hello);
  expect(peer.of("tasks/result")).toEqual([]);
});

it("takes the answer of a server that makes no task of it [S-001 S-019]", async () => {
  const { peer, client } = await setUpSep();
  peer.script("resources/read", { result: report }, { error: { code: -32002, message: "gone" } });
  expect(await client.readResource(uri)).toEqual(report);
  const refused = { code: "rpc", error: { code: -32002, message: "gone" } };
  await expect(client.readResource(uri)).rejects.toMatchObject(refused);
  peer.script("resources/read", { result: {} });
  await expect(client.readResource(uri)).rejects.toMatchObject({ code: "protocol" });
  expect(peer.of("tasks/get")).toEqual([]);
});

it("tells that its task failed, and deletes one that is not to lie around [S-055]", async () => {
  const { peer, client } = await setUpSep();
  peer.always("resources/read", creating(peer));
  peer.script("tasks/get", task("failed", { error: "no paper" }), task("completed"));
  const failed = { code: "failed", message: "no paper" };
  await expect(client.readResource(uri)).rejects.toMatchObject(failed);
  peer.script("tasks/result", { result: report });
  peer.script("tasks/delete", { result: {} });
  expect(await client.readResource(uri, { deleteAfterFetch: true })).toEqual(report);
  expect(peer.of("tasks/delete")).toHaveLength(1);
});

it("is called off with its caller, as a task too", async () => {
  const { peer, client, clock } = await setUpSep();
  clock.hold();
  peer.script("resources/read", creating(peer));
  peer.script("tasks/get", task("working"), task("cancelled"));
  const leaving = new AbortController();
  const reading = client.readResource(uri, { signal: leaving.signal });
  await clock.nap(2000);
  const reason = new Error("enough");
  leaving.abort(reason);
  await expect(reading).rejects.toBe(reason);
  const [request] = peer.of("resources/read");
  expect(peer.params("notifications/cancelled")).toMatchObject([{ requestId: request?.["id"] }]);
});

it("finds the task of a read whose answer was lost, and otherwise reads again [S-023 A-19]", async () => {
  const server = await SessionServer.start();
  server.capabilities = { resources: {}, tasks: { resources: { read: true } } };
  const clock = new FakeClock();
  const client = await server.connect({ generation: "sep-1686" }, clock);
  clock.hold();
  const lose = (response: ServerResponse): void => void response.destroy();
  server.script("resources/read", lose, json(report));
  server.script("tasks/get", error({ code: -32602, message: "Unknown task" }));
  const again = client.readResource(uri);
  (await clock.nap(firstRetryMs)).wake();
  expect(await again).toEqual(report);
  expect(server.of("resources/read")).toHaveLength(2);
  const completed = (response: ServerResponse, message: Seen): void => {
    const shown = { status: "completed", keepAlive: null, pollFrequency: 1 };
    json({ ...(message.body["params"] as object), ...shown })(response, message);
  };
  server.script("resources/read", lose);
  server.script("tasks/get", completed, completed);
  server.script("tasks/result", json(report));
  const found = client.readResource(uri);
  (await clock.nap(firstRetryMs)).wake();
  expect(await found).toEqual(report);
  expect(server.of("resources/read")).toHaveLength(3);
});

it("is the request alone in other generations, and fails as everything here does", async () => {
  const { peer, client } = await setUpCore({}, { resources: {}, prompts: {} });
  peer.script("resources/read", { result: report }, { error: { code: -32002, message: "gone", data: 1 } });
  expect(await client.readResource(uri)).toEqual(report);
  expect(peer.params("resources/read")).toEqual([{ uri }]);
  const refused = { code: "rpc", error: { code: -32002, data: 1 } };
  await expect(client.readResource(uri)).rejects.toMatchObject(refused);
  peer.script("prompts/get", { result: hello }, { result: { messages: 3 } });
  expect(await client.getPrompt("hello")).toEqual(hello);
  await expect(client.getPrompt("hello")).rejects.toMatchObject({ code: "protocol" });
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  await expect(client.readResource(uri, { signal })).rejects.toBe(reason);
  peer.always("resources/read", "silence");
  const left = client.readResource(uri).catch((failure: unknown) => failure);
  await client.close();
  expect(await left).toMatchObject({ code: "closed" });
});

it("reads from a server of ours over HTTP, also where the stream of the read is lost [S-016 S-023]", async () => {
  const opened = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<void>();
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50 });
  const served = tasks.server(() => {
    const server = new McpServer({ name: "office", version: "1.0.0" });
    server.registerResource("report", uri, {}, async ({ href }) => {
      reading.resolve();
      await opened.promise;
      return { contents: [{ uri: href, text: "14 pages" }] };
    });
    server.registerPrompt("hello", {}, () => ({
      messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
    }));
    return server;
  });
  const http = await serveHttp(served, { port: 0, anonymous: "shared" });
  onTestFinished(async () => http.close());
  let losses = 0;
  const client = await connect(http.url, {
    protocolVersion: "2025-06-18",
    pollFloorMs: 1,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      const { body } = init ?? {};
      if (losses > 0 || typeof body !== "string" || !body.includes("resources/read")) return response;
      losses++;
      await reading.promise; // the task is there, and nobody hears of it
      await response.body?.cancel();
      opened.resolve();
      throw new TypeError("fetch failed");
    },
  });
  onTestFinished(async () => client.close());
  expect(await client.readResource(uri)).toMatchObject(text);
  expect(await client.getPrompt("hello")).toMatchObject(hello);
  expect(losses).toBe(1);
  const { tasks: listed } = await client.listTasks();
  expect(listed.map(({ status }) => status)).toEqual(["completed", "completed"]);
});

it.each(["2025-06-18", "2025-11-25", "2026-07-28"] as const)(
  "reads on a pipe, on %s",
  async (protocolVersion) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const script = fileURLToPath(new URL("../stdio-server.ts", import.meta.url));
    const server = { command: process.execPath, args: [script, join(folder, "tasks.db")] };
    const client = await connect(server, { protocolVersion });
    onTestFinished(async () => client.close());
    const { contents } = await client.readResource("test://office");
    expect(contents).toMatchObject([{ text: "at the door" }]);
  },
);
