import { createTasks, HoldfastError } from "holdfast";
import {
  connectAll,
  type Conversation,
  type HostOptions,
  type HostServer,
  type InboxMessage,
  type ToolPolicy,
} from "holdfast/host";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { partsOf, resultOf } from "../../src/host/for-models.ts";
import { folder } from "../cli/run-cli.ts";
import { sourceOf, text } from "./source.ts";

type Servers = HostOptions["servers"];

async function hostOf(servers: Servers, options: Partial<HostOptions> = {}) {
  const tasks = options.tasks ?? createTasks({ store: memoryStore(), stopDeadlineMs: 0 });
  const host = await connectAll({ tasks, servers, ...options });
  onTestFinished(async () => host.close());
  return host;
}

/** A tool that ends when the test says so, and counts how often it runs. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<string>();
  let runs = 0;
  const handler = async () => {
    runs += 1;
    return text(await promise);
  };
  return { handler, open: resolve, runs: () => runs };
}

async function first(messages: AsyncIterable<InboxMessage>): Promise<InboxMessage | undefined> {
  for await (const message of messages) return message;
  return undefined;
}

test("a call is waited for, and the same id is the same call", async () => {
  const slow = gate();
  const host = await hostOf({ build: sourceOf("build", { compile: slow.handler }) });
  const chat = host.conversation("chat-1");

  const call = chat.call("build__compile", { input: "web" }, { id: "call-1" });
  const again = chat.call("build__compile", { input: "web" }, { id: "call-1" });
  slow.open("compiled");

  expect(await call).toEqual({ id: "call-1", result: text("compiled"), isBackground: false });
  expect(await again).toEqual(await call);
  const later = await chat.call("build__compile", { input: "web" }, { id: "call-1" });
  expect(later.result).toEqual(text("compiled"));
  expect(slow.runs()).toBe(1);
  await expect(chat.call("build__compile", { input: "app" }, { id: "call-1" })).rejects.toMatchObject({
    code: "idempotency_conflict",
  });
});

const none = [{ approve: "yes" }, { aprove: true }, { mode: "later" }, { foregroundMs: "x" }, 5];

test.each([...none, Promise.resolve({ approve: true })])(
  "a policy that is none, %j, lets no call through",
  async (policy) => {
    const compile = vi.fn(async () => text("compiled"));
    const servers = { build: sourceOf("build", { compile }) };
    const host = await hostOf(servers, { policy: () => policy as ToolPolicy });
    const call = host.conversation("chat-1").call("build__compile", {});
    await expect(call).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining("The policy of build__compile") as string,
    });
    expect(compile).not.toHaveBeenCalled();
  },
);

test.each([{ durable: false }, { tools: { compile: { durable: false } } }])(
  "calls of a host are tasks: %j is refused",
  async (options) => {
    const servers = { build: { url: "http://127.0.0.1:1/mcp", ...options } };
    await expect(hostOf(servers)).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringContaining("servers.build says durable: false") as string,
    });
  },
);

test("a tool without options is refused by its name", async () => {
  const servers = { build: { url: "http://127.0.0.1:1/mcp", tools: { compile: undefined } } };
  await expect(hostOf(servers as never)).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining("tools.compile") as string,
  });
});

test("an error without words is said to have none", () => {
  const { content, isError } = resultOf({ kind: "error", body: '{"code":0,"message":""}' });
  expect(isError).toBe(true);
  expect(content).toMatchObject([{ text: "The call failed, and the server does not say why." }]);
});

test("models get no file that is empty or of no type, which their providers refuse", () => {
  const content: Parameters<typeof partsOf>[0]["content"] = [
    { type: "image", mimeType: "image/png", data: "" },
    { type: "audio", mimeType: "", data: "AAAA" },
    { type: "resource", resource: { uri: "file:///notes.bin", blob: "" } },
  ];
  expect(partsOf({ content })).toEqual([
    { type: "text", text: "[image/png, 0 bytes]" },
    { type: "file", mediaType: "application/octet-stream", data: "AAAA" },
    { type: "text", text: "[file:///notes.bin, 0 bytes]" },
  ]);
});

test("a server that lists a tool twice, or one that another has, keeps no tool from being used", async () => {
  const listing = (...names: string[]): HostServer => {
    const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
    const initialized = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "twice", version: "1" },
    };
    const answers = JSON.stringify({ initialize: initialized, "tools/list": { tools } });
    const program = `require("node:readline").createInterface(process.stdin).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: ${answers}[method] ?? { content: [] } }));
    });`;
    return { command: process.execPath, args: ["-e", program] };
  };
  const faults: string[] = [];
  const host = await hostOf(
    { a: listing("b__c", "twice", "twice", "last"), a__b: listing("c", "d") },
    { onError: (fault) => void faults.push(String(fault)) },
  );
  expect(host.tools.map(({ name }) => name)).toEqual(["a__b__c", "a__twice", "a__last", "a__b__d"]);
  expect(faults).toMatchObject([
    expect.stringMatching(/mcp a has two tools of the name "a__twice"/),
    expect.stringMatching(/a__b__c/),
  ]);
});

test("servers are opened at the same time, and their tools are in the order of the servers", async () => {
  const all = Promise.withResolvers<void>();
  const order: string[] = [];
  const opening = (name: string): HostServer => {
    const source = sourceOf(name, { compile: async () => text(name) });
    return {
      ...source,
      open: async (given) => {
        order.push(name);
        if (order.length === 3) all.resolve();
        await all.promise;
        if (name === "a") await vi.waitUntil(() => order.length === 5);
        const opened = await source.open(given);
        order.push(`${name} is open`);
        return opened;
      },
    };
  };
  const host = await hostOf({ a: opening("a"), b: opening("b"), c: opening("c") });
  expect(order.at(-1)).toBe("a is open");
  expect(host.tools.map(({ server, name }) => [server, name])).toEqual([
    ["a", "a__compile"],
    ["b", "b__compile"],
    ["c", "c__compile"],
  ]);
});

test("a call in the background is answered at once, and its result comes to the inbox of its conversation alone", async () => {
  const slow = gate();
  const host = await hostOf(
    { build: sourceOf("build", { compile: slow.handler }) },
    { policy: () => ({ mode: "background" }) },
  );
  const chat = host.conversation("chat-1");

  const started = await chat.call("build__compile", { input: "web" }, { id: "call-1" });
  expect(started).toMatchObject({ isBackground: true, result: { content: [{ type: "text" }] } });
  expect(await chat.calls()).toMatchObject([{ id: "call-1", state: "running", isBackground: true }]);
  expect(await host.conversation("chat-2").calls()).toEqual([]);

  slow.open("compiled");
  expect(await first(chat.inbox())).toEqual({
    id: "call-1",
    tool: "build__compile",
    args: { input: "web" },
    isBackground: true,
    result: text("compiled"),
  });
  // The loop was left in its body, so the message comes again.
  const ids: string[] = [];
  for await (const { id } of chat.inbox()) {
    ids.push(id);
    if (id === "call-2") break;
    await chat.call("build__compile", { input: "next" }, { id: "call-2" });
  }
  expect(ids).toEqual(["call-1", "call-2"]);
  expect((await chat.calls()).map(({ id }) => id)).toEqual(["call-2"]);
});

test("a call that takes longer than it is waited for goes on in the background", async () => {
  const slow = gate();
  const host = await hostOf(
    { build: sourceOf("build", { compile: slow.handler }) },
    { policy: () => ({ foregroundMs: 1 }) },
  );
  const chat = host.conversation("chat-1");

  const { isBackground } = await chat.call("build__compile", {}, { id: "call-1" });
  expect(isBackground).toBe(true);
  slow.open("compiled");
  expect(await first(chat.inbox())).toMatchObject({ id: "call-1", isBackground: true });
});

test("a result that no caller has acknowledged is in the inbox of the next process", async () => {
  const path = join(await folder(), "host.db");
  const slow = gate();
  const servers = {
    build: sourceOf("build", { compile: slow.handler, test: async () => text("green") }),
  };
  const before = await hostOf(servers, {
    tasks: createTasks({ store: sqliteStore(path), stopDeadlineMs: 0 }),
  });
  const open = before.conversation("chat-1");
  const waiting = open.call("build__compile", { input: "web" }, { id: "call-1" });
  await open.call("build__test", {}, { id: "call-2" });
  await open.call("build__test", {}, { id: "call-3" });
  await open.acknowledge("call-3");
  await vi.waitUntil(() => slow.runs() === 1);
  await Promise.all([before.close(), expect(waiting).rejects.toMatchObject({ code: "stopping" })]);

  const after = await hostOf(servers, { tasks: createTasks({ store: sqliteStore(path) }) });
  const chat = after.conversation("chat-1");
  const left = (await chat.calls()).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  expect(left).toMatchObject([
    { id: "call-1", state: "running", isBackground: false },
    { id: "call-2", state: "ended", isBackground: false },
  ]);
  slow.open("compiled");
  const results: string[] = [];
  for await (const { id, result } of chat.inbox()) {
    results.push(`${id} ${JSON.stringify(result.content)}`);
    if (results.length === 2) await after.close();
  }
  expect(results.map((result) => result.slice(0, 6)).toSorted()).toEqual(["call-1", "call-2"]);
  expect(slow.runs()).toBe(2);
});

test("a question goes to the user of its conversation, and can be answered later", async () => {
  const handler: Parameters<typeof sourceOf>[1][string] = async (_args, task) => {
    const answer = await task.elicit("sure", {
      message: "Sure?",
      requestedSchema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
    });
    return text(JSON.stringify(answer));
  };
  const asked: string[] = [];
  const servers = { build: sourceOf("build", { deploy: handler }) };
  const host = await hostOf(servers, {
    onInput: async ({ conversation, call, params }) => {
      asked.push(`${conversation} ${call} ${String(params["message"])}`);
      if (call === "call-2") throw new Error("nobody is here");
      return { action: "accept", content: { yes: true } };
    },
    onError: () => undefined,
  });
  const chat = host.conversation("chat-1");

  const { result } = await chat.call("build__deploy", {}, { id: "call-1" });
  expect(JSON.stringify(result)).toContain("accept");

  const second = chat.call("build__deploy", {}, { id: "call-2" });
  await vi.waitUntil(async () => (await chat.questions()).length === 1);
  const [question] = await chat.questions();
  if (question === undefined) throw new Error("There is no question");
  await chat.answer(question, { action: "decline" });
  expect(JSON.stringify(await second)).toContain("decline");
  expect(asked).toEqual(["chat-1 call-1 Sure?", "chat-1 call-2 Sure?"]);
});

test("aborting a call cancels it, and a call that fails says why", async () => {
  const reasons: unknown[] = [];
  const servers = {
    build: sourceOf("build", {
      compile: async (_args, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason);
            reject(signal.reason as Error);
          });
        }),
      broken: async () => {
        throw new Error("no disk");
      },
    }),
  };
  const host = await hostOf(servers);
  const chat = host.conversation("chat-1");
  const controller = new AbortController();
  const call = chat.call("build__compile", {}, { id: "call-1", signal: controller.signal });
  await vi.waitUntil(async () => (await chat.calls()).length === 1);
  controller.abort(new Error("the user has left"));

  await expect(call).rejects.toThrow("the user has left");
  await vi.waitUntil(() => reasons.length === 1);
  expect(await chat.calls()).toEqual([]);
  expect(await chat.call("build__broken", {})).toMatchObject({ result: { isError: true } });
  expect(await chat.call("build__absent", {})).toMatchObject({ result: { isError: true } });
});

test("a tool that needs approval asks for it once", async () => {
  let runs = 0;
  const asked: string[] = [];
  const host = await hostOf(
    { build: sourceOf("build", { deploy: async () => text(`run ${++runs}`) }) },
    {
      policy: () => ({ approve: true }),
      approve: ({ conversation, tool, args }) => {
        asked.push(`${conversation} ${tool.name} ${JSON.stringify(args)}`);
        return args["input"] === "staging";
      },
    },
  );
  const chat = host.conversation("chat-1");

  expect(await chat.call("build__deploy", { input: "live" })).toMatchObject({ result: { isError: true } });
  expect((await chat.call("build__deploy", { input: "staging" })).result).toEqual(text("run 1"));
  expect(asked).toEqual([
    'chat-1 build__deploy {"input":"live"}',
    'chat-1 build__deploy {"input":"staging"}',
  ]);
});

test("events tell of each call from its start to its end", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const host = await hostOf({
    build: sourceOf("build", {
      compile: async (_args, task) => {
        task.progress(1, 2);
        await promise;
        return text("compiled");
      },
    }),
  });
  const chat = host.conversation("chat-1");
  const call = chat.call("build__compile", {}, { id: "call-1" });
  const seen: string[] = [];
  for await (const event of chat.events()) {
    seen.push(event.type);
    if (event.type === "progress") resolve();
    if (event.type === "ended") break;
  }
  expect(seen.at(0)).toBe("started");
  expect(seen).toContain("progress");
  expect((await call).result).toEqual(text("compiled"));
});

test("a call that was waited for and now goes on in the background has its result in the inbox, as the model was told", async () => {
  const path = join(await folder(), "host.db");
  const slow = gate();
  const servers = { build: sourceOf("build", { compile: slow.handler }) };
  const tasks = () => createTasks({ store: sqliteStore(path), stopDeadlineMs: 0 });
  const before = await hostOf(servers, { tasks: tasks() });
  const waiting = before.conversation("chat-1").call("build__compile", {}, { id: "call-1" });
  await vi.waitUntil(() => slow.runs() === 1);
  await Promise.all([before.close(), expect(waiting).rejects.toMatchObject({ code: "stopping" })]);

  const after = await hostOf(servers, { tasks: tasks(), policy: () => ({ mode: "background" }) });
  const chat = after.conversation("chat-1");
  expect(await chat.call("build__compile", {}, { id: "call-1" })).toMatchObject({ isBackground: true });
  slow.open("compiled");
  expect(await first(chat.inbox())).toMatchObject({ id: "call-1", isBackground: true });
});

test("a call whose result is acknowledged is not made again", async () => {
  let runs = 0;
  const host = await hostOf({ build: sourceOf("build", { compile: async () => text(`run ${++runs}`) }) });
  const chat = host.conversation("chat-1");
  const { result } = await chat.call("build__compile", {}, { id: "call-1", mode: "background" });
  expect(JSON.stringify(result)).toContain("runs in the background");
  for await (const message of chat.inbox({ untilIdle: true })) expect(message.result).toEqual(text("run 1"));
  expect(await chat.results()).toEqual([]);
  expect(await chat.call("build__compile", {}, { id: "call-1" })).toMatchObject({
    isBackground: false,
    result: text("run 1"),
  });
  expect(runs).toBe(1);
});

test("a store that fails once keeps no call from its end", async () => {
  const store = memoryStore();
  const slow = gate();
  const errors: unknown[] = [];
  const host = await hostOf(
    { build: sourceOf("build", { compile: slow.handler }) },
    {
      tasks: createTasks({ store, stopDeadlineMs: 0 }),
      onError: (error) => errors.push(error),
    },
  );
  const call = host.conversation("chat-1").call("build__compile", {});
  await vi.waitUntil(() => slow.runs() === 1);
  const get = store.get.bind(store);
  let fails = 2;
  store.get = async (...given) => {
    if (fails-- > 0) throw new HoldfastError("store_failed", "The connection was reset.");
    return get(...given);
  };
  const snapshot = store.snapshot.bind(store);
  store.snapshot = async (...given) => {
    if (fails-- > 0) throw new HoldfastError("store_failed", "The connection was reset.");
    return snapshot(...given);
  };
  slow.open("compiled");
  expect((await call).result).toEqual(text("compiled"));
  expect(errors.length).toBeGreaterThan(0);
});

test("another process that shares the store finds a call by its id, and cancels it", async () => {
  const path = join(await folder(), "host.db");
  const slow = gate();
  const servers = { build: sourceOf("build", { compile: slow.handler }) };
  const tasks = () => createTasks({ store: sqliteStore(path), stopDeadlineMs: 0 });
  const one = await hostOf(servers, { tasks: tasks() });
  const other = await hostOf({}, { tasks: tasks() });
  expect(await other.conversation("chat-1").calls()).toEqual([]);
  await one.conversation("chat-1").call("build__compile", {}, { id: "call-1", mode: "background" });
  expect(await other.conversation("chat-1").calls()).toMatchObject([{ id: "call-1", state: "running" }]);
  await other.conversation("chat-1").cancel("call-1");
  expect(await first(one.conversation("chat-1").inbox())).toMatchObject({ result: { isError: true } });
});

test("of two processes that read one inbox, one has a message at a time, and each message comes once", async () => {
  const path = join(await folder(), "host.db");
  const servers = { build: sourceOf("build", { test: async () => text("green") }) };
  const tasks = () => createTasks({ store: sqliteStore(path), stopDeadlineMs: 0 });
  const hosts = [await hostOf(servers, { tasks: tasks() }), await hostOf({}, { tasks: tasks() })] as const;
  const [chat, other] = [hosts[0].conversation("chat-1"), hosts[1].conversation("chat-1")];
  const ids = ["call-1", "call-2", "call-3", "call-4"];
  for (const id of ids) await chat.call("build__test", {}, { id, mode: "background" });
  await vi.waitUntil(async () => (await chat.results()).length === ids.length);
  // Both know of all messages before they read.
  expect(await other.results()).toHaveLength(ids.length);

  let reading = 0;
  let most = 0;
  const seen: string[] = [];
  const read = async (reader: typeof chat): Promise<void> => {
    for await (const { id } of reader.inbox({ untilEmpty: true })) {
      most = Math.max(most, ++reading);
      seen.push(id);
      await reader.calls();
      reading -= 1;
    }
  };
  await Promise.all([read(chat), read(other)]);
  expect(seen.toSorted()).toEqual(ids);
  expect(most).toBe(1);
});

test("a message whose reader ends comes to the next one, in another process", async () => {
  const path = join(await folder(), "host.db");
  const servers = { build: sourceOf("build", { test: async () => text("green") }) };
  const tasks = () => createTasks({ store: sqliteStore(path), stopDeadlineMs: 0 });
  const [one, other] = [await hostOf(servers, { tasks: tasks() }), await hostOf({}, { tasks: tasks() })];
  const chat = one.conversation("chat-1");
  await chat.call("build__test", {}, { id: "call-1", mode: "background" });
  const held = await chat.inbox().next();
  expect(held.value).toMatchObject({ id: "call-1" });
  const next = first(other.conversation("chat-1").inbox());
  await one.close(); // without acknowledging it
  expect(await next).toMatchObject({ id: "call-1" });
});

test("a call that is waited for has its result, whoever acknowledges it", async () => {
  const path = join(await folder(), "host.db");
  const slow = gate();
  const servers = { build: sourceOf("build", { compile: slow.handler }) };
  const tasks = () => createTasks({ store: sqliteStore(path), stopDeadlineMs: 0 });
  const [one, other] = [await hostOf(servers, { tasks: tasks() }), await hostOf({}, { tasks: tasks() })];
  const waiting = one.conversation("chat-1").call("build__compile", {}, { id: "call-1" });
  await vi.waitUntil(() => slow.runs() === 1);
  const taken = first(other.conversation("chat-1").inbox());
  await other.conversation("chat-1").calls();
  slow.open("compiled");
  expect((await waiting).result).toEqual(text("compiled"));
  expect((await taken)?.result).toEqual(text("compiled"));
});

test("events have the lines of a tool's log", async () => {
  const handler: Parameters<typeof sourceOf>[1][string] = async (_args, task) => {
    await task.log("warning", "The disk is nearly full", { freeBytes: 12 });
    return text("compiled");
  };
  const host = await hostOf({ build: sourceOf("build", { compile: handler }) });
  const chat = host.conversation("chat-1");
  const seen: string[] = [];
  const watching = (async () => {
    for await (const event of chat.events()) {
      if (event.type === "log") seen.push(`${event.call.id} ${JSON.stringify(event.line)}`);
      if (event.type === "ended") return;
    }
  })();
  await chat.call("build__compile", {}, { id: "call-1" });
  await watching;
  expect(seen).toEqual([
    'call-1 {"level":"warning","text":"The disk is nearly full","data":{"freeBytes":12}}',
  ]);
});

test("a closed host says so of every call, and its inbox is over", async () => {
  const host = await hostOf({ build: sourceOf("build", { test: async () => text("green") }) });
  await host.close();
  const chat = host.conversation("chat-1");
  const closed = { code: "stopping", message: "The host is closed." };
  await expect(chat.call("build__test", {})).rejects.toMatchObject(closed);
  await expect(chat.calls()).rejects.toMatchObject(closed);
  expect(await first(chat.inbox())).toBeUndefined();
});

test("a call that was cancelled is told of once, in this process and the next", async () => {
  const file = join(await folder(), "host.db");
  const slow = gate();
  const start = async () =>
    hostOf(
      { build: sourceOf("build", { compile: slow.handler }) },
      { tasks: createTasks({ store: sqliteStore(file), stopDeadlineMs: 0 }) },
    );
  const told = async (chat: Conversation): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { id, result } of chat.inbox({ untilEmpty: true })) found.push(id, result.isError);
    return found;
  };
  const before = await start();
  const chat = before.conversation("chat-1");
  await chat.call("build__compile", {}, { id: "call-1", mode: "background" });
  await chat.cancel("call-1");
  await vi.waitUntil(async () => (await chat.results()).length === 1);
  expect(await told(chat)).toEqual(["call-1", true]);
  expect(await told(chat)).toEqual([]);
  await before.close();

  const after = (await start()).conversation("chat-1");
  expect(await told(after)).toEqual([]);
  expect(await after.call("build__compile", {}, { id: "call-1" })).toMatchObject({
    result: { isError: true },
  });
});

test("the questions that are open are known at once in the process after", async () => {
  const file = join(await folder(), "host.db");
  const asking = sourceOf("shop", {
    release: async (_, task) => {
      const requestedSchema = { type: "object", properties: {} } as const;
      const { action } = await task.elicit("sure", { message: "Release it?", requestedSchema });
      return text(action);
    },
  });
  const start = async () => {
    const tasks = createTasks({ store: sqliteStore(file), stopDeadlineMs: 0 });
    return hostOf({ shop: asking }, { tasks });
  };
  const before = await start();
  const chat = before.conversation("chat-1");
  await chat.call("shop__release", {}, { id: "call-1", mode: "background" });
  await vi.waitUntil(async () => (await chat.questions()).length === 1);
  await before.close();

  const after = (await start()).conversation("chat-1");
  expect(await after.questions()).toMatchObject([{ call: "call-1", params: { message: "Release it?" } }]);
});

test("a call that is refused says why, and one without an id is one of its own", async () => {
  const slow = gate();
  const echo = async (args: unknown) => text(JSON.stringify(args));
  const tasks = createTasks({ store: memoryStore(), maxUnfinished: 1, maxBodyBytes: 1_000 });
  const host = await hostOf({ build: sourceOf("build", { echo, compile: slow.handler }) }, { tasks });
  const chat = host.conversation("chat-1");
  const large = await chat.call("build__echo", { input: "x".repeat(2_000) });
  expect(large.result).toMatchObject({ isError: true });
  expect(JSON.stringify(large.result)).toContain("larger than 1000 bytes");
  const one = await chat.call("build__echo", { input: "one" }, { id: "" });
  const two = await chat.call("build__echo", { input: "two" }, { id: "" });
  expect([one.result, two.result]).toEqual([text('{"input":"one"}'), text('{"input":"two"}')]);

  await chat.call("build__compile", {}, { mode: "background" });
  const refused = await chat.call("build__echo", { input: "three" });
  expect(refused).toMatchObject({ isBackground: false, result: { isError: true } });
  expect(JSON.stringify(refused.result)).toContain("too many tasks");
  slow.open("compiled");
});
