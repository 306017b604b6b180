import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext } from "holdfast";
import { createFetchHandler, createNodeHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { TaskStart } from "../../../src/server/http/handler.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import { FakeClock } from "../../../src/testing/clocks.ts";
import { Held, watchedStore, type BeforeCall } from "../../runtime/watched-store.ts";
import { text, withoutTasks } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { listenTo } from "../../kit/subscription.ts";
import { handlerOf, served, type Mounting } from "./mount.ts";

const url = "http://localhost/mcp";

interface Target {
  readonly peer: StatelessClient;
  readonly fetch: (path: string) => Promise<Response>;
  readonly close: () => Promise<void>;
  readonly errors: unknown[];
}

/** The same tasks behind each kind of handler; nobody starts them. */
const kinds: Record<"fetch" | "node", (mounting: Mounting) => Promise<Target>> = {
  async fetch({ tools, options }) {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, onError, ...options });
    tasks.tool("bare", {}, () => text("bare"));
    tools?.(tasks);
    const handler = createFetchHandler(
      tasks.server(() => new McpServer({ name: "reports", version: "1" })),
      { allowedHosts: "any" },
    );
    onTestFinished(() => handler.close());
    const send = (at: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(at, init));
    return {
      peer: new StatelessClient(url, send),
      fetch: (path) => send(`http://localhost${path}`),
      close: () => handler.close(),
      errors,
    };
  },
  async node(mounting) {
    const { handler, errors } = handlerOf(mounting);
    const { origin } = await served(handler);
    return {
      peer: new StatelessClient(`${origin}/mcp`),
      fetch: (path) => fetch(`${origin}${path}`),
      close: () => handler.close(),
      errors,
    };
  },
};

const both = Object.entries(kinds);

it.each(both)("starts the tasks with the first request through %s", async (_, target) => {
  const { peer, errors } = await target({});
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("bare") });
  expect(errors).toEqual([]);
});

it.each(both)("starts the tasks when it is asked whether it is ready through %s", async (_, target) => {
  const { fetch: get } = await target({});
  expect((await get("/healthz")).status).toBe(200);
  let status = (await get("/readyz")).status;
  while (status === 503) ({ status } = await get("/readyz"));
  expect(status).toBe(200);
});

it.each(both)("lets requests wait for the start through %s", async (_, target) => {
  const opening = new Held("renew");
  const { peer } = await target({ options: { store: watchedStore(memoryStore(), opening.before) } });
  const called = [peer.call("bare"), peer.send("tools/list")];
  await opening.reached;
  opening.open();
  expect((await Promise.all(called)).map(({ status }) => status)).toEqual([200, 200]);
});

it.each(both)(
  "answers 503 while the tasks cannot be started, and reports why, through %s",
  async (_, target) => {
    const cause = new HoldfastError("store_locked", "tasks.db is in use by another process.");
    const store = watchedStore(memoryStore(), (call) => {
      if (call === "open") throw cause;
    });
    const { peer, fetch: get, errors } = await target({ options: { store } });
    const answers = await Promise.all([peer.call("bare"), peer.send("tasks/get", { taskId: "a" })]);
    for (const { status, headers, error } of answers) {
      expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
      expect(error?.message).toBe("The server could not start running tasks. See its log for the reason.");
    }
    expect(errors).toEqual([cause]);
    expect((await get("/readyz")).status).toBe(503);
  },
);

it.each(both)("ends requests that wait for a start when it closes, through %s", async (_, target) => {
  const opening = new Held("open");
  const { peer, close } = await target({ options: { store: watchedStore(memoryStore(), opening.before) } });
  const called = peer.send("tools/list");
  await opening.reached;
  await close();
  expect((await called).error?.message).toBe("The server is stopping.");
  opening.open();
});

it("tries again after a pause to start the tasks, and tells each fault once", async () => {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  let attempts = 0;
  const before: BeforeCall = (call) => {
    if (call === "open" && ++attempts < 3) throw new HoldfastError("store_locked", "in use");
  };
  const tasks = createTasks({
    store: watchedStore(memoryStore(), before),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => tasks.stop());
  const start = new TaskStart(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    clock,
  );
  const fault = "The server could not start running tasks. See its log for the reason.";
  expect(await Promise.all([start.fault(), start.fault()])).toEqual([fault, fault]);
  expect([await start.fault(), attempts]).toEqual([fault, 1]);
  await clock.advance(1_000);
  expect([await start.fault(), attempts]).toEqual([fault, 2]);
  await clock.advance(1_000);
  expect([await start.fault(), attempts]).toEqual([undefined, 3]);
  expect(errors).toHaveLength(2);
});

it("takes tasks that were started before", async () => {
  const { handler, tasks } = handlerOf();
  await tasks.start();
  const { origin } = await served(handler);
  expect((await fetch(`${origin}/readyz`)).status).toBe(200);
  expect((await new StatelessClient(`${origin}/mcp`).call("bare")).status).toBe(200);
});

/** A tool that runs until its test opens the gate. */
function gated() {
  const started = Promise.withResolvers<TaskContext>();
  const gate = Promise.withResolvers<void>();
  const tools: Mounting["tools"] = (tasks) =>
    tasks.tool("gated", { task: "forbidden" }, async (_, task) => {
      started.resolve(task);
      await gate.promise;
      return text("done");
    });
  return { tools, started: started.promise, open: gate.resolve };
}

it.each(both)(
  "lets a call in flight end before it closes, and is closed once, through %s",
  async (_, target) => {
    const { tools, started, open } = gated();
    const { peer, fetch: get, close } = await target({ tools, options: { stopDeadlineMs: 30_000 } });
    const answered = peer.call("gated", {}, { capabilities: withoutTasks });
    await started;
    const closed = close();
    expect((await get("/readyz")).status).toBe(503);
    open();
    expect((await answered).result).toMatchObject(text("done"));
    await closed;
    await close();
    const { status, error } = await peer.call("bare");
    expect([status, error?.message]).toEqual([503, "The server is stopping."]);
    expect(error).toMatchObject({ data: { retryAfterMs: 1_000, "holdfast/begun": false } });
    expect((await get("/healthz")).status).toBe(200);
  },
);

it.each(both)("cuts a call off that does not end in time through %s", async (_, target) => {
  const { tools, started } = gated();
  const { peer, close } = await target({ tools });
  const answered = peer.call("gated", {}, { capabilities: withoutTasks }).catch(() => undefined);
  await started;
  await close();
  // Over a socket the connection may end before it; nobody is told that the call has its answer.
  const told = await answered;
  if (told !== undefined) {
    expect(told).toMatchObject({ status: 503, error: { code: -32603, data: { "holdfast/begun": true } } });
  }
});

it("closes its store, ends its streams in order, and leaves the server to its owner", async () => {
  const closed = Promise.withResolvers<void>();
  const store = watchedStore(memoryStore(), (call) => {
    if (call === "close") closed.resolve();
  });
  const { handler } = handlerOf({ options: { store, stopDeadlineMs: 30_000 } });
  const { origin } = await served((request, response) => {
    handler(request, response, () => response.end("the application"));
  });
  const stream = await (await SessionClient.open(`${origin}/mcp`)).listen();
  const id = await new StatelessClient(`${origin}/mcp`).start("bare");
  const listened = await listenTo(`${origin}/mcp`, { taskIds: [id] });
  await handler.close();
  await closed.promise;
  expect(await stream.rest()).toEqual([]);
  expect(await listened.text()).toMatch(/"result":.*\n\n$/);
  expect(await (await fetch(`${origin}/other`)).text()).toBe("the application");
});

it("lets clients keep no connection to a server that ends", async () => {
  const { tools, started, open } = gated();
  const { handler } = handlerOf({ tools, options: { stopDeadlineMs: 30_000 } });
  const { origin } = await served(handler);
  const peer = new StatelessClient(`${origin}/mcp`);
  const held = peer.call("gated", {}, { capabilities: withoutTasks });
  await started;
  const closed = handler.close();
  expect((await peer.send("tools/list")).headers.get("connection")).toBe("close");
  open();
  await held;
  await closed;
});

it("can be closed although nothing was ever started", async () => {
  const { handler } = handlerOf();
  await handler.close();
  const { origin } = await served(handler);
  expect((await new StatelessClient(`${origin}/mcp`).call("bare")).status).toBe(503);
});

it("refuses what is no handler's to have", () => {
  const server = createTasks({ store: memoryStore() }).server(
    () => new McpServer({ name: "a", version: "1" }),
  );
  expect(() => createNodeHandler(server, { port: 3000 } as never)).toThrow(
    'createNodeHandler has no option "port"',
  );
  expect(() => createNodeHandler({} as never)).toThrow("createNodeHandler(tasks.server(");
  expect(() => createNodeHandler(server, { stallTimeoutMs: 0 })).toThrow(
    'stallTimeoutMs must be a length of time from 1ms to 24d, in milliseconds or such as "3d", not 0.',
  );
});
