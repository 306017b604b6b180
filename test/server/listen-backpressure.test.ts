import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi, type MockInstance } from "vitest";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Subscription } from "../kit/subscription.ts";

interface Setup {
  readonly url: string;
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  readonly reads: MockInstance;
  /** Starts a task and resolves with its handler's side. */
  readonly start: () => Promise<TaskContext>;
}

/** A server without a socket: nothing takes a message but who reads it. */
async function setup(): Promise<Setup> {
  const store = memoryStore();
  const tasks = createTasks({ store, stopDeadlineMs: 100 });
  const contexts = new Map<string, PromiseWithResolvers<TaskContext>>();
  tasks.tool("waits", {}, async (_, task) => {
    at(contexts, task.id).resolve(task);
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
    return text("over");
  });
  await tasks.start();
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { allowedHosts: "any" },
  );
  onTestFinished(async () => {
    await handler.close();
    await tasks.stop();
  });
  const url = "http://reports.example/mcp";
  const send = (to: string, init: RequestInit): Promise<Response> => handler.fetch(new Request(to, init));
  const peer = new StatelessClient(url, send);
  return {
    url,
    send,
    reads: vi.spyOn(store, "snapshot"),
    start: async () => {
      const id = await peer.start("waits");
      return at(contexts, id).promise;
    },
  };
}

function at<T>(map: Map<string, PromiseWithResolvers<T>>, id: string): PromiseWithResolvers<T> {
  const found = map.get(id) ?? Promise.withResolvers<T>();
  map.set(id, found);
  return found;
}

it("reads nothing for a client that does not, and shows it the newest state when it does [X-084]", async () => {
  const { url, send, reads, start } = await setup();
  const task = await start();
  const listener = await Subscription.to(url, { taskIds: [task.id] }, { fetch: send });
  const readsAtFirst = reads.mock.calls.length;
  for (let n = 1; n <= 500; n++) await task.status(`page ${n}`);
  expect(reads.mock.calls.length - readsAtFirst).toBeLessThanOrEqual(1);
  await listener.next();
  const shown = [(await listener.task())["statusMessage"]];
  while (shown.at(-1) !== "page 500") shown.push((await listener.task())["statusMessage"]);
  // one that was on its way, and the newest
  expect(shown.length).toBeLessThanOrEqual(2);
});

it("lets a busy task keep no other waiting [X-084]", async () => {
  const { url, send, start } = await setup();
  const [busy, quiet] = [await start(), await start()];
  const listener = await Subscription.to(url, { taskIds: [busy.id, quiet.id] }, { fetch: send });
  await listener.next();
  await listener.task();
  await listener.task();
  await busy.status("1");
  await quiet.status("once");
  await busy.status("2");
  const seen = [await listener.task(), await listener.task()];
  expect(seen.map(({ taskId }) => taskId)).toEqual([busy.id, quiet.id]);
});

it("does not hold the others up for one that does not read [X-B-017]", async () => {
  const { url, send, start } = await setup();
  const task = await start();
  const idle = await Subscription.to(url, { taskIds: [task.id] }, { fetch: send });
  const quick = await Subscription.to(url, { taskIds: [task.id] }, { fetch: send });
  await quick.next();
  await quick.task();
  for (let n = 1; n <= 20; n++) {
    await task.status(`page ${n}`);
    expect(await quick.task()).toMatchObject({ statusMessage: `page ${n}` });
  }
  await idle.leave();
});
