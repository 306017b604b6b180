import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { McpServer, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { createTasks, type Tasks, type TasksOptions } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { type Message, text, withoutTasks } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { acknowledged, listenTo, Subscription, subscriptionKey } from "../kit/subscription.ts";
import { ticketOf } from "./plain/job.ts";
import { processes } from "./restarted-sessions.ts";
import { authorsOwn } from "./session-server.ts";

const updated = "notifications/resources/updated";
const as = (user: string) => ({ headers: { Authorization: `Bearer ${user}` } });

const authenticate: Authenticate = async (request) =>
  request.headers.get("authorization")?.replace("Bearer ", "");

/** A tool that appends a line to its log when it is told to, and ends when it is told to. */
function logging() {
  const begun = Promise.withResolvers<void>();
  const orders: PromiseWithResolvers<"log" | "output" | "end">[] = [];
  const next = (place: number): PromiseWithResolvers<"log" | "output" | "end"> =>
    (orders[place] ??= Promise.withResolvers());
  let given = 0;
  const tools = (tasks: Tasks): void => {
    tasks.tool("work", {}, async (_, task) => {
      await task.log("info", "begins");
      begun.resolve();
      for (let place = 0; ; place++) {
        const order = await next(place).promise;
        if (order === "end") return text("done");
        if (order === "log") await task.log("info", `line ${place}`);
        else await task.output(`part ${place}`);
      }
    });
  };
  const order = (what: "log" | "output" | "end"): void => next(given++).resolve(what);
  return { tools, order, begun: begun.promise };
}

/** No poll comes before the test is over. */
const options: Partial<TasksOptions> = { pollIntervalMs: 3_600_000 };

const taskIdOf = (created: Message): string =>
  (created["result"] as { task: { taskId: string } }).task.taskId;

it.each(["2025-11-25", "2025-06-18"])("tells a session of %s of lines, and of the end", async (version) => {
  const { tools, order, begun } = logging();
  const { http } = await serve({ tools, http: { authenticate }, options });
  const peer = await SessionClient.open(http.url, { ...as("ann"), version });
  const stream = await peer.listen();
  const isCore = version === "2025-11-25";
  const call = { name: "work", arguments: {} };
  const id = "a/b";
  const sep = { ...call, _meta: { "modelcontextprotocol.io/task": { taskId: id } } };
  const calling = peer.request("tools/call", isCore ? { ...call, task: {} } : sep);
  const taskId = isCore ? taskIdOf(await calling) : id;
  await begun;
  const [log, output] = ["log", "output"].map((list) => `task://${encodeURIComponent(taskId)}/${list}`);
  for (const uri of [log, output])
    expect(await peer.request("resources/subscribe", { uri })).toMatchObject({ result: {} });
  const news = async (): Promise<unknown> => {
    for (;;) {
      const message = await stream.message();
      if (message?.["method"] === updated) return (message["params"] as { uri: string }).uri;
    }
  };
  order("log");
  expect(await news()).toBe(log);
  order("output");
  expect(await news()).toBe(output);
  expect(await peer.request("resources/unsubscribe", { uri: log })).toMatchObject({ result: {} });
  order("log");
  order("end");
  expect(await news()).toBe(output);
  await calling;
});

it("tells a listener of 2026-07-28 of lines, and of the end, beside its task and what the author's server has", async () => {
  const { tools, order, begun } = logging();
  const server = ({ server: own }: McpServer): void =>
    own.registerCapabilities({ resources: { subscribe: true } });
  const { http } = await serve({ tools, server, http: { authenticate }, options });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("work", {}, as("ann"));
  await begun;
  const [log, output] = [`task://${id}/log`, `task://${id}/output?after=7`];
  const resourceSubscriptions = [log, "test://note", "task://unknown/log", output];
  const listener = await Subscription.to(http.url, { taskIds: [id], resourceSubscriptions }, as("ann"));
  expect(await listener.next()).toMatchObject({
    method: acknowledged,
    params: { notifications: { taskIds: [id], resourceSubscriptions: ["test://note", log, output] } },
  });
  expect(await listener.task()).toMatchObject({ taskId: id, status: "working" });
  order("log");
  expect(await listener.next()).toEqual(pushed(log));
  http.notify.resourceUpdated("test://note");
  expect(await listener.next()).toMatchObject(pushed("test://note"));
  order("output");
  expect(await listener.next()).toEqual(pushed(output));
  order("end");
  const last = [await listener.next(), await listener.next(), await listener.next()];
  expect(last).toEqual(
    expect.arrayContaining([
      pushed(log),
      pushed(output),
      expect.objectContaining({ method: "notifications/tasks" }),
    ]),
  );
});

it("tells a client without tasks of the lines of its call, by the reference of its ticket", async () => {
  const { tools, order, begun } = logging();
  const plain = { ...options, plain: "ticket", plainDeadlineMs: 20 } as const;
  const { http } = await serve({ tools, http: { authenticate }, options: plain });
  const peer = new StatelessClient(http.url);
  const { result } = await peer.call("work", {}, { capabilities: withoutTasks, ...as("ann") });
  const { reference } = ticketOf(result);
  await begun;
  const log = `task://${reference}/log`;
  const listening = { capabilities: withoutTasks, ...as("ann") };
  const listener = await Subscription.to(http.url, { resourceSubscriptions: [log] }, listening);
  expect(await listener.next()).toMatchObject({
    params: { notifications: { resourceSubscriptions: [log] } },
  });
  order("log");
  expect(await listener.next()).toEqual(pushed(log));
});

it.each(["2026-07-28", "2025-11-25"])("tells a client of %s on a pipe", async (version) => {
  const { tools, order, begun } = logging();
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, ...options });
  tools(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1.2.3" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const answerTo = async (id: number): Promise<Message> => {
    for (;;) {
      const message = await pipe.next();
      if (message?.["id"] === id) return message;
    }
  };
  const request = (id: number, method: string, params: object): Promise<Message> => {
    pipe.write({ id, method, params });
    return answerTo(id);
  };
  const isNewest = version === "2026-07-28";
  let id: string;
  if (isNewest) id = await pipe.start("work");
  else {
    const clientInfo = { name: "desk", version: "1" };
    await request(1, "initialize", { protocolVersion: version, capabilities: {}, clientInfo });
    pipe.write({ method: "notifications/initialized" });
    id = taskIdOf(await request(2, "tools/call", { name: "work", arguments: {}, task: {} }));
  }
  await begun;
  const uri = `task://${id}/log`;
  const news = async (): Promise<Message | undefined> => {
    for (;;) {
      const message = await pipe.next();
      if (message?.["method"] === updated) return message;
    }
  };
  if (isNewest) {
    pipe.listen(7, { resourceSubscriptions: [uri] });
    expect(await pipe.next()).toMatchObject({
      method: acknowledged,
      params: { notifications: { resourceSubscriptions: [uri] } },
    });
  } else expect(await request(3, "resources/subscribe", { uri })).toMatchObject({ result: {} });
  const expected = isNewest ? pushed(uri, 7) : { jsonrpc: "2.0", method: updated, params: { uri } };
  order("log");
  expect(await news()).toEqual(expected);
  order("end");
  expect(await news()).toEqual(expected);
});

it("refuses another's task as an unknown one, and tells nothing of it [A-40]", async () => {
  const { tools, begun } = logging();
  const { http } = await serve({ tools, http: { authenticate }, options });
  const id = await new StatelessClient(http.url).start("work", {}, as("ann"));
  await begun;
  const uris = [`task://${id}/log`, "task://unknown/log"];
  const eve = await SessionClient.open(http.url, as("eve"));
  for (const uri of uris) {
    expect((await eve.request("resources/subscribe", { uri }))["error"]).toEqual({
      code: ProtocolErrorCode.InvalidParams,
      message: `Resource not found: ${uri}`,
      data: { uri },
    });
  }
  const listener = await Subscription.to(http.url, { taskIds: [], resourceSubscriptions: uris }, as("eve"));
  expect(await listener.next()).toMatchObject({
    method: acknowledged,
    params: { notifications: { taskIds: [] } },
  });
});

it("leaves subscriptions to other resources to the author's server", async () => {
  const { tools } = logging();
  const uris: string[] = [];
  const server = ({ server: own }: McpServer): void => {
    own.registerCapabilities({ resources: { subscribe: true } });
    own.setRequestHandler("resources/subscribe", ({ params }) => (uris.push(params.uri), {}));
  };
  const { http } = await serve({ tools, server, http: { authenticate } });
  const peer = await SessionClient.open(http.url, as("ann"));
  for (const uri of ["test://note", "task://a/journal"]) await peer.request("resources/subscribe", { uri });
  expect(uris).toEqual(["test://note", "task://a/journal"]);
});

it("lets one connection follow a hundred lists, and one listen request name as many as tasks", async () => {
  const { tools, begun } = logging();
  const { http } = await serve({
    tools,
    http: { authenticate },
    options: { ...options, maxIdsPerListen: 3 },
  });
  const peer = await SessionClient.open(http.url, as("ann"));
  const id = taskIdOf(await peer.request("tools/call", { name: "work", arguments: {}, task: {} }));
  await begun;
  const uriOf = (n: number): string => `task://${id}/log?after=${n}`;
  for (let n = 0; n < 100; n++) await peer.request("resources/subscribe", { uri: uriOf(n) });
  const again = await peer.request("resources/subscribe", { uri: uriOf(0) });
  expect(again).toMatchObject({ result: {} });
  const refused = await peer.request("resources/subscribe", { uri: uriOf(100) });
  expect(refused["error"]).toMatchObject({
    message: expect.stringMatching(/^You already follow 100 logs/) as unknown,
  });
  await peer.request("resources/unsubscribe", { uri: uriOf(0) });
  expect(await peer.request("resources/subscribe", { uri: uriOf(100) })).toMatchObject({ result: {} });
  const resourceSubscriptions = [uriOf(0), uriOf(1), uriOf(2)];
  const response = await listenTo(http.url, { taskIds: [id], resourceSubscriptions }, as("ann"));
  expect(await response.json()).toMatchObject({
    error: {
      code: ProtocolErrorCode.InvalidParams,
      message: expect.stringContaining("more than 3 tasks") as unknown,
    },
  });
});

it("counts lists to which one connection subscribes at once, and follows none that it has ended meanwhile", async () => {
  const { tools, order, begun } = logging();
  const { http } = await serve({ tools, http: { authenticate }, options });
  const peer = await SessionClient.open(http.url, as("ann"));
  const id = taskIdOf(await peer.request("tools/call", { name: "work", arguments: {}, task: {} }));
  await begun;
  const log = `task://${id}/log`;
  const old = await SessionClient.open(http.url, { ...as("ann"), version: "2025-03-26" });
  /** The answers to a batch, in which none waits for another. */
  const together = async (requests: readonly (readonly [method: string, uri: string])[]): Promise<string> => {
    const batch = requests.map(([method, uri], place) => ({
      jsonrpc: "2.0",
      id: `${method} ${place}`,
      method: `resources/${method}`,
      params: { uri },
    }));
    return (await old.post(batch)).text();
  };
  const uris = Array.from({ length: 120 }, (_, n) => `${log}?after=${n}`);
  const parts = [0, 40, 80].map((from) => uris.slice(from, from + 40));
  const answers: string[] = [];
  for (const part of parts) answers.push(await together(part.map((uri) => ["subscribe", uri])));
  expect(answers.join("").match(/You already follow 100 logs/g)).toHaveLength(20);
  for (const part of parts) await together(part.map((uri) => ["unsubscribe", uri]));
  await together([
    ["subscribe", log],
    ["unsubscribe", log],
    ["subscribe", `task://${id}/output`],
  ]);
  const stream = await old.listen();
  order("log");
  order("output");
  expect(await stream.message()).toMatchObject({ method: updated, params: { uri: `task://${id}/output` } });
});

it("tells who followed the end of its task at once, and tells a chatty handler's follower no more often than it can read", async () => {
  const { tools, order, begun } = logging();
  const { http } = await serve({ tools, http: { authenticate }, options });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("work", {}, as("ann"));
  await begun;
  const log = `task://${id}/log`;
  const listen = async (): Promise<Subscription> => {
    const listener = await Subscription.to(http.url, { resourceSubscriptions: [log] }, as("ann"));
    await listener.next();
    return listener;
  };
  const listener = await listen();
  for (let n = 0; n < 200; n++) order("log");
  order("end");
  let count = 0;
  // Its subscription goes on; that of its list has ended.
  const late = await listen();
  for (;;) {
    expect(await listener.next()).toEqual(pushed(log));
    count += 1;
    const { result } = await peer.send("tasks/get", { taskId: id }, as("ann"));
    if (result?.["status"] === "completed") break;
  }
  expect(count).toBeLessThan(100);
  expect(await late.next()).toEqual(pushed(log));
});

it("goes on in another process with a session that has moved there", async () => {
  const { tools, order, begun } = logging();
  const run = await processes({ tools });
  const here = await run.open();
  const id = taskIdOf(await here.request("tools/call", { name: "work", arguments: {}, task: {} }));
  await begun;
  const uri = `task://${id}/log`;
  expect(await here.request("resources/subscribe", { uri })).toMatchObject({ result: {} });
  run.kill();
  const stream = await here.listen();
  const next = async (): Promise<Message | undefined> => {
    for (;;) {
      const message = await stream.message();
      if (message?.["method"] === updated) return message;
    }
  };
  expect(await next()).toMatchObject({ params: { uri } }); // it may have missed some
  order("log");
  expect(await next()).toMatchObject({ params: { uri } });
  await here.request("resources/subscribe", { uri: "task://gone/log" });
  expect(run.errors).toEqual([]);
});

it("tells the followers of one node of lines that a handler on another one appends", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "tasks.db");
  const { tools, order, begun } = logging();
  const node = (): Promise<Served> =>
    serve({ tools, http: { authenticate }, options: { ...options, store: sqliteStore(file) } });
  const [here, there] = [await node(), await node()];
  const id = await new StatelessClient(here.http.url).start("work", {}, as("ann"));
  await begun;
  const log = `task://${id}/log`;
  const listener = await Subscription.to(there.http.url, { resourceSubscriptions: [log] }, as("ann"));
  await listener.next();
  order("log");
  expect(await listener.next()).toEqual(pushed(log));
  order("end");
  expect(await listener.next()).toEqual(pushed(log));
});

const declared = { "holdfast/taskLines": {} };
const templates = ["log{?after}", "output{?after}", "artifact", "artifact/{name}{?from,bytes}"].map(
  (path) => `task://{id}/${path}`,
);

it("announces them in 2026-07-28 to who asks, and to nobody else", async () => {
  const { tools } = logging();
  const { http } = await serve({ tools, server: authorsOwn });
  const peer = new StatelessClient(http.url);
  const asked = { extensions: declared };
  const discovered = await peer.result("server/discover", {}, { capabilities: asked });
  expect(discovered).toMatchObject({
    capabilities: { extensions: declared, resources: {} },
    cacheScope: "private",
  });
  const list = await peer.result("resources/templates/list", {}, { capabilities: asked });
  expect(uriTemplates(list)).toEqual(templates);
  expect(list).toMatchObject({ cacheScope: "private" });
  expect(JSON.stringify(await peer.result("server/discover"))).not.toContain("taskLines");
  expect(uriTemplates(await peer.result("resources/templates/list"))).toEqual([]);
});

it("announces them in a session to who asks, and to nobody else", async () => {
  const { tools } = logging();
  const { http } = await serve({ tools, server: authorsOwn });
  for (const version of ["2025-11-25", "2025-06-18"]) {
    const asking = new SessionClient(http.url, { version, capabilities: { experimental: declared } });
    expect(await (await asking.initialize()).text()).toContain("holdfast/taskLines");
    const other = new SessionClient(http.url, { version });
    expect(await (await other.initialize()).text()).not.toContain("holdfast/taskLines");
  }
  const asking = await SessionClient.open(http.url, { capabilities: { experimental: declared } });
  const { result } = await asking.request("resources/templates/list");
  expect(uriTemplates(result)).toEqual(templates);
  const other = await SessionClient.open(http.url);
  expect(uriTemplates((await other.request("resources/templates/list"))["result"])).toEqual([]);
});

it("announces them on a pipe to who asks", async () => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  pipe.send(1, "server/discover", {}, { extensions: declared });
  expect(await pipe.next()).toMatchObject({ id: 1, result: { capabilities: { extensions: declared } } });
  pipe.send(2, "server/discover");
  expect(JSON.stringify(await pipe.next())).not.toContain("taskLines");
});

function uriTemplates(result: unknown): readonly string[] {
  return (result as { resourceTemplates: { uriTemplate: string }[] }).resourceTemplates.map(
    ({ uriTemplate }) => uriTemplate,
  );
}

/** What a listener of 2026-07-28 is told. */
function pushed(uri: string, subscription: string | number = 1): object {
  return { jsonrpc: "2.0", method: updated, params: { uri, _meta: { [subscriptionKey]: subscription } } };
}
