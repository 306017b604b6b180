import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished, vi } from "vitest";
import { withTask } from "../../src/generation/sep-1686.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";

const requests = 12;

interface Reads {
  now: number;
  most: number;
  all: number;
  /** Those that no memory was reserved for. */
  unreserved: number;
}

/** A store that counts how many large outcomes it reads, and at a time. Each read takes some turns of the event loop. */
function counting(): { store: TaskStore; reads: Reads } {
  const store = memoryStore();
  const reads = { now: 0, most: 0, all: 0, unreserved: 0 };
  const read = store.snapshot.bind(store);
  const snapshot: typeof read = async (id, isVisible, reserve) => {
    let isLarge = false;
    const reserved = async (bytes: number): Promise<void> => {
      await reserve?.(bytes);
      isLarge = true;
      if (reserve === undefined) reads.unreserved += 1;
      reads.now += 1;
      reads.most = Math.max(reads.most, reads.now);
      for (let turns = 0; turns < 5; turns++) await setImmediate();
    };
    const found = await read(id, isVisible, reserved);
    if (isLarge) [reads.now, reads.all] = [reads.now - 1, reads.all + 1];
    return found;
  };
  return { store: Object.assign(store, { snapshot }), reads };
}

const large = (tasks: Tasks): void => void tasks.tool("large", {}, () => text("x".repeat(256 * 1024)));

it.each([
  ["tasks/result in a session", true, "tasks/result"],
  ["tasks/get in a session", true, "tasks/get"],
  ["tasks/result without sessions", false, "tasks/result"],
  ["tasks/get without sessions", false, "tasks/get"],
])("reads a few large results at once for %s", async (_, sessions, method) => {
  const { store, reads } = counting();
  const http = { anonymous: "shared", sessions } as const;
  const { http: served } = await serve({ tools: large, options: { store }, http });
  const peer = sessions ? await SessionClient.open(served.url) : new SessionClient(served.url);
  const { result } = await peer.request("tools/call", { name: "large", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  await peer.request("tasks/result", { taskId });
  Object.assign(reads, { most: 0, all: 0 });
  const asked = Array.from({ length: requests }, (__, id) => peer.post({ id, method, params: { taskId } }));
  const answers = await Promise.all(asked.map(async (answer) => (await answer).text()));
  expect(answers.filter((answer) => answer.includes('"result"'))).toHaveLength(requests);
  expect(reads.all).toBeGreaterThanOrEqual(requests);
  expect(reads.most).toBeLessThanOrEqual(4);
});

/** A session with a tool whose calls have a large result once `end` is resolved. */
async function endingLater(): Promise<{
  readonly peer: SessionClient;
  readonly reads: Reads;
  readonly end: PromiseWithResolvers<void>;
}> {
  const { store, reads } = counting();
  const end = Promise.withResolvers<void>();
  const tools = (tasks: Tasks): void =>
    void tasks.tool("later", {}, async () => {
      await end.promise;
      return text("x".repeat(256 * 1024));
    });
  const { http } = await serve({ tools, options: { store }, http: { anonymous: "shared" } });
  const peer = await SessionClient.open(http.url);
  return { peer, reads, end };
}

it.each(["2025-11-25", "sep-1686"])(
  "reserves the memory for a result that was waited for in the form of %s",
  async (form) => {
    const { peer, reads, end } = await endingLater();
    const call = { name: "later", arguments: {} };
    let taskId = "mine";
    let waiting: Promise<unknown>;
    if (form === "sep-1686") waiting = peer.request("tools/call", withTask(call, { taskId }));
    else {
      const { result } = await peer.request("tools/call", { ...call, task: {} });
      ({ taskId } = (result as { task: { taskId: string } }).task);
      waiting = peer.request("tasks/result", { taskId });
    }
    await vi.waitUntil(async () => "result" in (await peer.request("tasks/get", { taskId })));
    end.resolve();
    expect(await waiting).toHaveProperty("result");
    expect([reads.all, reads.unreserved]).toEqual([1, 0]);
  },
);

it("keeps no memory for requests whose ids their client uses again, since they are not answered", async () => {
  const { peer, reads, end } = await endingLater();
  const { result } = await peer.request("tools/call", { name: "later", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  for (let id = 100; id < 100 + requests; id++) {
    await peer.post({ id, method: "tasks/result", params: { taskId } });
    const again = await peer.post({ id, method: "tasks/get", params: { taskId } });
    expect(await again.text()).toContain("working");
  }
  end.resolve();
  await vi.waitUntil(() => reads.all >= requests);
  expect(await peer.request("tasks/result", { taskId })).toHaveProperty("result");
});

it("does not wait for the end of a task for a request that is cancelled while the store is asked whether it has ended", async () => {
  const store = memoryStore();
  const get = store.get.bind(store);
  const asked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) => void tasks.tool("hangs", {}, () => new Promise(() => undefined)),
    options: { store },
    http: { anonymous: "shared" },
  });
  const peer = await SessionClient.open(http.url);
  const { result } = await peer.request("tools/call", { name: "hangs", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  Object.assign(store, {
    get: async (id: string) => {
      asked.resolve();
      await told.promise;
      return get(id);
    },
  });
  const answer = peer.post({ id: "r", method: "tasks/result", params: { taskId } });
  await asked.promise;
  await peer.post({ method: "notifications/cancelled", params: { requestId: "r" } });
  expect(await (await answer).json()).toMatchObject({ id: "r", error: { message: "Cancelled" } });
  told.resolve();
});

it.each(["tasks/get", "tasks/result"])(
  "reads a few large results at once for %s on a pipe, and more when the client has taken those",
  async (method) => {
    const { store, reads } = counting();
    const tasks = createTasks({ store, stopDeadlineMs: 100 });
    large(tasks);
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const server = await serveStdio(
      tasks.server(() => new McpServer({ name: "reports", version: "1" })),
      { stdin, stdout },
    );
    onTestFinished(() => server.close());
    const lines = new PassThrough();
    const pipe = new StdioClient(stdin, lines);
    stdout.pipe(lines);
    let taskId: string;
    if (method === "tasks/get") {
      taskId = await pipe.start("large");
      for (let task = await pipe.request(method, { taskId }); task["status"] !== "completed";)
        task = await pipe.request(method, { taskId });
    } else {
      const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "x", version: "1" },
      };
      pipe.write({ id: "i", method: "initialize", params });
      await pipe.next();
      pipe.write({ id: "c", method: "tools/call", params: { name: "large", arguments: {}, task: {} } });
      const { result } = (await pipe.next()) as { result: { task: { taskId: string } } };
      ({ taskId } = result.task);
      pipe.write({ id: "w", method, params: { taskId } });
      for (let message = await pipe.next(); message?.["id"] !== "w";) message = await pipe.next();
    }
    stdout.unpipe(lines);
    while (reads.now > 0) await setImmediate(); // by who follows the task
    Object.assign(reads, { most: 0, all: 0 });
    for (let id = 0; id < requests; id++) {
      if (method === "tasks/get") pipe.send(id, method, { taskId });
      else pipe.write({ id, method, params: { taskId } });
    }
    for (let turns = 0; turns < 200; turns++) await setImmediate();
    expect(reads.all).toBeLessThan(requests); // of the rest there is nothing in memory
    stdout.pipe(lines);
    const answered = new Set<unknown>();
    while (answered.size < requests) {
      const message = await pipe.next();
      if (typeof message?.["id"] === "number") answered.add(message["id"]);
    }
    expect(reads.all).toBe(requests);
    expect(reads.most).toBeLessThanOrEqual(4);
  },
);
