import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext, type Tasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Message, tasksExtension, text, unstamped, withoutTasks } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { acknowledged, listenTo, Subscription, subscriptionKey } from "../kit/subscription.ts";

/** A tool whose handler is led by the test, step by step. */
class Led {
  readonly #running = new Map<string, PromiseWithResolvers<TaskContext>>();
  readonly #ends = new Map<string, PromiseWithResolvers<ReturnType<typeof text>>>();

  readonly register = (tasks: Tasks): void => {
    tasks.tool("led", {}, async (_, task) => {
      at(this.#running, task.id).resolve(task);
      return at(this.#ends, task.id).promise;
    });
    tasks.tool("asks", {}, async (_, task) => {
      await task.elicit("name", { message: "Name?", requestedSchema: { type: "object", properties: {} } });
      return text("asked");
    });
  };

  context(id: string): Promise<TaskContext> {
    return at(this.#running, id).promise;
  }

  end(id: string, value = "done"): void {
    at(this.#ends, id).resolve(text(value));
  }
}

function at<T>(map: Map<string, PromiseWithResolvers<T>>, id: string): PromiseWithResolvers<T> {
  const found = map.get(id) ?? Promise.withResolvers<T>();
  map.set(id, found);
  return found;
}

async function led(
  setup: Partial<Parameters<typeof serve>[0]> = {},
): Promise<Served & { led: Led; peer: StatelessClient; url: string }> {
  const tool = new Led();
  const served = await serve({ tools: tool.register, ...setup });
  const { url } = served.http;
  return { ...served, led: tool, peer: new StatelessClient(url), url };
}

/** What tasks/get answers, as a notification has it. */
async function asPushed(peer: StatelessClient, taskId: string, subscription: unknown = 1): Promise<Message> {
  const { resultType: _, ...task } = unstamped(await peer.get(taskId));
  return { ...task, _meta: { ...(task["_meta"] as object), [subscriptionKey]: subscription } };
}

it("acknowledges first, then shows each task as it is now [X-086 X-B-012 X-B-013 A-26]", async () => {
  const { peer, url } = await led();
  const [one, two] = [await peer.start("led"), await peer.start("led")];
  for (const id of [7, "7"]) {
    const listener = await Subscription.to(url, { taskIds: [two, one, two] }, { id });
    expect(await listener.next()).toEqual({
      jsonrpc: "2.0",
      method: acknowledged,
      params: { notifications: { taskIds: [two, one] }, _meta: { [subscriptionKey]: id } },
    });
    expect(await listener.task()).toEqual(await asPushed(peer, two, id));
    expect(await listener.task()).toEqual(await asPushed(peer, one, id));
    await listener.leave();
  }
});

it("pushes each change as tasks/get would answer it, to the end [X-082 X-083 X-084 X-P-005 A-25]", async () => {
  const { led: tool, peer, url } = await led();
  const id = await peer.start("led");
  const task = await tool.context(id);
  const listener = await Subscription.to(url, { taskIds: [id] });
  await listener.next();
  expect(await listener.task()).toMatchObject({ taskId: id, status: "working" });
  await task.status("half-way");
  expect(await listener.task()).toMatchObject({ status: "working", statusMessage: "half-way" });
  tool.end(id, "report");
  const last = await listener.until("completed");
  expect(last).toEqual(await asPushed(peer, id));
  expect(last).toMatchObject({ result: { ...text("report"), resultType: "complete" } });
  expect(last).not.toHaveProperty("resultType");
});

it("shows questions and that they are answered [X-083 X-084]", async () => {
  const { peer, url } = await led();
  const id = await peer.start("asks");
  const listener = await Subscription.to(url, { taskIds: [id] });
  await listener.next();
  const asked = await listener.until("input_required");
  expect(asked).toEqual(await asPushed(peer, id));
  const [key] = Object.keys(asked["inputRequests"] as object);
  await peer.result("tasks/update", { taskId: id, inputResponses: { [String(key)]: { action: "decline" } } });
  expect(await listener.until("completed")).toEqual(await asPushed(peer, id));
});

it("sends nothing for what a client cannot see, and no progress messages [X-084 X-089 X-B-014]", async () => {
  const {
    led: tool,
    peer,
    url,
  } = await led({ server: (mcp) => void mcp.registerTool("own", {}, () => text("own")) });
  const id = await peer.start("led");
  const task = await tool.context(id);
  const listener = await Subscription.to(url, { taskIds: [id] });
  await listener.next();
  await listener.task();
  for (let step = 0; step < 5; step++) await task.step(`step-${step}`, () => step);
  task.progress(1, 2, "pages");
  expect(await listener.task()).toMatchObject({ statusMessage: "1 of 2: pages" });
  tool.end(id);
  expect(await listener.task()).toMatchObject({ status: "completed" });
});

it("leaves out unknown and foreign ids, and stays open for none [X-086 X-B-015 A-27 A-33]", async () => {
  const authenticate = async (request: Request): Promise<string> => request.headers.get("x-user") ?? "ann";
  const { http, peer, url } = await led({ http: { authenticate } });
  const mine = await peer.start("led");
  const foreign = await peer.start("led", {}, { headers: { "x-user": "bob" } });
  const some = await Subscription.to(url, { taskIds: ["no-such-task", foreign, mine] });
  const none = await Subscription.to(url, { taskIds: [foreign] }, { id: 2 });
  expect(await some.next()).toMatchObject({ params: { notifications: { taskIds: [mine] } } });
  expect(await some.task()).toMatchObject({ taskId: mine });
  expect(await none.next()).toMatchObject({ params: { notifications: { taskIds: [] } } });
  await http.close();
  for (const [listener, id] of [
    [some, 1],
    [none, 2],
  ] as const) {
    expect(await listener.next()).toMatchObject({
      jsonrpc: "2.0",
      id,
      result: { resultType: "complete", _meta: { [subscriptionKey]: id } },
    });
    expect(await listener.next()).toBeUndefined();
  }
});

it("refuses to listen to tasks without the extension, whatever else is asked for [X-087 A-28]", async () => {
  const { url } = await led();
  for (const notifications of [{ taskIds: [] }, { taskIds: ["a"], toolsListChanged: true }, { taskIds: 7 }]) {
    const response = await listenTo(url, notifications, { capabilities: withoutTasks });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32021, data: { requiredCapabilities: { extensions: tasksExtension } } },
    });
  }
});

it("checks headers and _meta before that, and the ids after it [A-29]", async () => {
  const { url } = await led();
  const body = async (response: Response): Promise<unknown> => [
    response.status,
    ((await response.json()) as Message)["error"],
  ];
  const version = { headers: { "MCP-Protocol-Version": "2025-11-25" }, capabilities: withoutTasks };
  expect(await body(await listenTo(url, { taskIds: [] }, version))).toMatchObject([400, { code: -32020 }]);
  for (const taskIds of ["a", [7], null, Array.from({ length: 1_001 }, String)]) {
    const [, error] = (await body(await listenTo(url, { taskIds }))) as [number, unknown];
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("taskIds") });
  }
  const typed = { taskIds: [], toolsListChanged: "yes" };
  expect(await body(await listenTo(url, typed))).toMatchObject([200, { code: -32602 }]);
});

it("leaves listening without task ids to the SDK", async () => {
  const { url } = await led();
  const plain = await Subscription.to(url, { toolsListChanged: true }, { capabilities: withoutTasks });
  expect(await plain.next()).toMatchObject({ params: { notifications: { toolsListChanged: true } } });
  const malformed = await listenTo(url, undefined);
  expect(((await malformed.json()) as Message)["error"]).toMatchObject({ code: -32602 });
});

it("shows a client that listens again the current state [A-26]", async () => {
  const { led: tool, peer, url } = await led();
  const id = await peer.start("led");
  const first = await Subscription.to(url, { taskIds: [id] });
  await first.next();
  await first.task();
  await first.leave();
  tool.end(id);
  await peer.ended(id);
  const second = await Subscription.to(url, { taskIds: [id] }, { id: "again" });
  await second.next();
  expect(await second.task()).toEqual(await asPushed(peer, id, "again"));
});

it("reads nothing more for a client that is gone, and lets its task live [X-B-017]", async () => {
  const store = memoryStore();
  const { led: tool, peer, url } = await led({ options: { store } });
  const id = await peer.start("led");
  const task = await tool.context(id);
  const gone = await Subscription.to(url, { taskIds: [id] });
  const stays = await Subscription.to(url, { taskIds: [id] });
  for (const listener of [gone, stays]) {
    await listener.next();
    await listener.task();
  }
  await gone.leave();
  const reads = vi.spyOn(store, "snapshot");
  // Once the server has heard of it, a change is read for one listener only.
  for (let change = 0; ; change++) {
    reads.mockClear();
    await task.status(`still here ${change}`);
    expect(await stays.task()).toMatchObject({ statusMessage: `still here ${change}` });
    if (reads.mock.calls.length === 1) break;
  }
});

it("adds the tasks to what else is listened to, and ends with it [X-086 X-B-014 X-B-015]", async () => {
  const { http, led: tool, peer, url } = await led();
  const id = await peer.start("led");
  const listener = await Subscription.to(url, {
    taskIds: [id],
    toolsListChanged: true,
    promptsListChanged: true,
  });
  expect(await listener.next()).toMatchObject({
    params: { notifications: { taskIds: [id], toolsListChanged: true } },
  });
  tool.end(id);
  await listener.until("completed");
  await http.close();
  expect(await listener.next()).toMatchObject({ id: 1, result: { resultType: "complete" } });
  expect(await listener.next()).toBeUndefined();
});

it("keeps a silent stream alive", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const tasks = createTasks({ store: memoryStore() });
  await tasks.start();
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { allowedHosts: "any" },
  );
  onTestFinished(async () => {
    await handler.close();
    await tasks.stop();
  });
  const send = (url: string, init: RequestInit): Promise<Response> => handler.fetch(new Request(url, init));
  const own = vi.getTimerCount(); // those of the tasks
  const listener = await Subscription.to("http://reports.example/mcp", { taskIds: [] }, { fetch: send });
  await listener.next();
  const comment = listener.event();
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(own + 1));
  vi.advanceTimersByTime(15_000);
  expect(await comment).toBe(": keepalive");
  await listener.leave();
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(own));
});

it("ends the stream when the store cannot be read, so that the client listens again", async () => {
  const store = memoryStore();
  const { errors, led: tool, peer, url } = await led({ options: { store } });
  const id = await peer.start("led");
  const task = await tool.context(id);
  const listener = await Subscription.to(url, { taskIds: [id] });
  await listener.next();
  await listener.task();
  const fault = new Error("disk is gone");
  vi.spyOn(store, "snapshot").mockRejectedValueOnce(fault);
  await task.status("unread");
  expect(await listener.next()).toMatchObject({ id: 1, result: { resultType: "complete" } });
  expect(await listener.next()).toBeUndefined();
  expect(errors).toEqual([fault]);
});
