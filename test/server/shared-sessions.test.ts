import type { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { sessionKey } from "../../src/server/http/sessions/session-records.ts";
import type { SessionListener } from "../../src/store/session-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { rest } from "../../src/testing/clocks.ts";
import { type Message, formClient, text } from "../kit/messages.ts";
import type { EventStream, SessionClient } from "../kit/session-client.ts";
import { form } from "./prepare-caller.ts";
import { minute, processes } from "./restarted-sessions.ts";

const status = async (peer: SessionClient): Promise<number> => {
  const response = await peer.post({ id: "status", method: "ping" });
  await response.body?.cancel();
  return response.status;
};

const begin = (peer: SessionClient, name: string, args = {}): Promise<EventStream> =>
  peer.begin("tools/call", { name, arguments: args });

const accept = (question: Message | undefined, content: object): object => ({
  id: question?.["id"],
  result: { action: "accept", content },
});

const asker = (stream: EventStream): Promise<Message | undefined> => stream.message();

/** What the author's server of each process was told of its client's subscriptions. */
function subscriptions() {
  const told: string[][] = [];
  const own = ({ server }: McpServer): void => {
    const uris: string[] = [];
    told.push(uris);
    server.registerCapabilities({ resources: { subscribe: true } });
    server.setRequestHandler("resources/subscribe", ({ params }) => (uris.push(params.uri), {}));
    server.setRequestHandler("resources/unsubscribe", ({ params }) => {
      uris.splice(uris.indexOf(params.uri), 1);
      return {};
    });
  };
  return { told, own };
}

it("serves one session in several processes, which tell each other what its client has set", async () => {
  const { told, own } = subscriptions();
  const run = await processes({ own });
  const here = await run.open();
  const there = (await run.beside()).peer(here);
  expect(await there.call("echo", { say: "there" })).toMatchObject({ result: text("there") });
  await here.request("resources/subscribe", { uri: "test://a" });
  await there.request("resources/subscribe", { uri: "test://b" });
  await here.request("logging/setLevel", { level: "warning" });
  await there.request("resources/unsubscribe", { uri: "test://a" });
  await rest();
  expect(told).toEqual([["test://b"], ["test://b"]]);
  const stream = await there.listen();
  for (const level of ["info", "warning"] as const)
    await run.made[1]?.sendLoggingMessage({ level, data: level }, here.sessionId);
  expect(await stream.message()).toMatchObject({ params: { level: "warning" } });
  await (await run.beside()).peer(here).request("resources/subscribe", { uri: "test://c" });
  expect(told.at(-1)).toEqual(["test://b", "test://c"]);
  expect(run.errors).toEqual([]);
});

it("loses no change that two processes make of one session at a time", async () => {
  const { told, own } = subscriptions();
  const run = await processes({ own });
  const here = await run.open();
  const there = (await run.beside()).peer(here);
  await status(there);
  const uris = Array.from({ length: 20 }, (_, n) => `test://${n}`);
  await Promise.all(
    uris.map((uri, n) => (n % 2 === 0 ? here : there).request("resources/subscribe", { uri })),
  );
  await rest();
  await status((await run.beside()).peer(here));
  for (const each of told) expect(each.toSorted()).toEqual(uris.toSorted());
  expect(told.length).toBe(3);
});

it("reads sessions again when it may have missed what others did", async () => {
  const { told, own } = subscriptions();
  const listeners: SessionListener[] = [];
  const subscribe = (listener: SessionListener) => (listeners.push(listener), () => undefined);
  const wrap = (store: TaskStore): TaskStore => (Object.assign(store.sessions ?? {}, { subscribe }), store);
  const run = await processes({ own, wrap });
  const [here, ended] = [await run.open(), await run.open()];
  const other = await run.beside();
  for (const peer of [here, ended]) await status(other.peer(peer));
  await other.peer(here).request("resources/subscribe", { uri: "test://a" });
  await other.peer(ended).send("DELETE");
  await rest();
  expect([told[0], run.size()]).toEqual([[], 2]);
  for (const listener of listeners) listener("gap");
  await rest();
  expect([told[0], run.size()]).toEqual([["test://a"], 1]);
});

it("ends a session in all processes when its client ends it in one", async () => {
  const run = await processes();
  const here = await run.open();
  const other = await run.beside();
  const there = other.peer(here);
  const stream = await there.listen();
  expect((await here.send("DELETE")).status).toBe(200);
  expect(await stream.rest()).toEqual([]);
  expect([await status(here), await status(there), other.size(), run.size()]).toEqual([404, 404, 0, 0]);
});

it("ends a session in all processes that made room for another one in the store", async () => {
  const run = await processes({ maxSessions: 1 });
  const first = await run.open();
  const other = await run.beside();
  await status(other.peer(first));
  await run.clock.advance(2 * minute);
  await run.open();
  await rest();
  expect([await status(other.peer(first)), other.size()]).toEqual([404, 0]);
});

it("keeps a session that is idle in one process and used in another", async () => {
  const run = await processes();
  const here = await run.open();
  const other = await run.beside();
  const there = other.peer(here);
  await run.clock.advance(5 * minute);
  for (let minutes = 0; minutes < 60; minutes++) {
    expect(await status(there)).toBe(200);
    await run.clock.advance(minute);
  }
  expect([run.size(), other.size()]).toEqual([0, 1]); // it is not held where nobody uses it
  expect(await status(here)).toBe(200);
  await run.clock.advance(51 * minute);
  expect([run.size(), other.size()]).toEqual([0, 0]);
  expect(await run.records.get(sessionKey(here.sessionId ?? ""))).toBeUndefined();
});

it("keeps a session that is used in one process after a long pause, when it idles out in another", async () => {
  const run = await processes();
  const here = await run.open();
  const there = (await run.beside()).peer(here);
  await status(there);
  await run.clock.advance(5 * minute);
  await status(here);
  await run.clock.advance(38 * minute); // it ends there in two minutes
  await status(there);
  await run.clock.advance(5 * minute);
  expect([run.size(), await status(there)]).toEqual([0, 200]);
});

it("keeps a session for others that makes room in one process only", async () => {
  const run = await processes();
  const [used, unused, next] = [await run.open(), await run.open(), await run.open()];
  const small = await run.beside(1);
  await status(small.peer(used));
  await run.clock.advance(15 * minute);
  await status(used); // which is stored in five minutes
  await run.clock.advance(15 * minute);
  await status(small.peer(unused));
  await run.clock.advance(2 * minute);
  await status(small.peer(next));
  await rest();
  expect([small.size(), run.size()]).toEqual([1, 2]);
  expect(await Promise.all([used, unused, next].map(status))).toEqual([200, 404, 200]);
});

it.each(["there", "here"] as const)(
  "takes the answer to a question of an author's server that comes to another process (%s)",
  async (asked) => {
    const run = await processes();
    const here = await run.open({ capabilities: formClient });
    const there = (await run.beside()).peer(here);
    const [asking, answering] = asked === "there" ? [there, here] : [here, there];
    await status(there);
    const stream = await begin(asking, "ask_user");
    const answer = await answering.post(accept(await asker(stream), { name: "Ann" }));
    expect(answer.status).toBe(202);
    expect(await stream.rest()).toMatchObject([{ result: text('user: accept {"name":"Ann"}') }]);
    expect(run.errors).toEqual([]);
  },
);

it("takes the answer to a question of a call's task that comes to another process, and asks there again", async () => {
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("asks", {}, async (_args, task) => {
        const { content } = await task.elicit("name", form("Name?"));
        return text(String(content?.["name"]));
      }),
  });
  const here = await run.open({ capabilities: formClient, version: "2025-06-18" });
  const there = (await run.beside()).peer(here, "ann", undefined, { version: "2025-06-18" });
  const stream = await begin(here, "asks");
  await there.post(accept(await asker(stream), { name: 5 }));
  const again = await asker(stream);
  expect(again).toMatchObject({ params: { message: expect.stringContaining("not accepted") as unknown } });
  await there.post(accept(again, { name: "Ann" }));
  expect(await stream.rest()).toMatchObject([{ result: text("Ann") }]);
});

it("cancels a call in the process where it runs, wherever the cancel comes", async () => {
  const cancelled = Promise.withResolvers<void>();
  const run = await processes({
    own: (mcp) => {
      mcp.registerTool("sleeps", {}, async ({ mcpReq }) => {
        await new Promise((resolve) => mcpReq.signal.addEventListener("abort", resolve));
        cancelled.resolve();
        return text("woken");
      });
    },
  });
  const here = await run.open();
  const there = (await run.beside()).peer(here);
  const stream = await here.post({
    id: "nap",
    method: "tools/call",
    params: { name: "sleeps", arguments: {} },
  });
  await there.post({ method: "notifications/cancelled", params: { requestId: "nap" } });
  await cancelled.promise;
  await stream.text();
  // Nobody answers it any more.
  expect(await status(here)).toBe(200);
});

it("tells the author's servers of all processes that the client's roots have changed, and that it is initialized", async () => {
  const heard: string[] = [];
  let count = 0;
  const run = await processes({
    own: ({ server }) => {
      const name = `server ${count++}`;
      server.oninitialized = () => heard.push(`${name} initialized`);
      server.setNotificationHandler(
        "notifications/roots/list_changed",
        () => void heard.push(`${name} roots`),
      );
    },
  });
  const response = await run.peer(undefined, "ann").initialize();
  await response.text();
  const here = run.peer(response.headers.get("mcp-session-id") ?? "", "ann");
  const there = (await run.beside()).peer(here);
  await there.post({ method: "notifications/initialized" });
  expect(heard).toEqual(["server 1 initialized", "server 1 initialized", "server 0 initialized"]);
  heard.length = 0;
  await here.post({ method: "notifications/roots/list_changed" });
  expect(heard).toEqual(["server 0 roots", "server 1 roots"]);
});

it("takes no answer in another process from a token that lacks a scope of the call", async () => {
  const run = await processes({ scopes: { ask_user: ["ask"] } });
  const here = await run.open({ capabilities: formClient }, "ann", ["ask"]);
  const other = await run.beside();
  const stream = await begin(here, "ask_user");
  const question = await asker(stream);
  for (const [granted, name] of [
    [[], "thief"],
    [["ask"], "Ann"],
  ] as const) {
    await other.peer(here, "ann", granted).post(accept(question, { name }));
  }
  expect(await stream.rest()).toMatchObject([{ result: text('user: accept {"name":"Ann"}') }]);
});

it("refuses an answer that cannot be passed on to the process that asked", async () => {
  const run = await processes();
  const here = await run.open({ capabilities: formClient });
  const there = (await run.beside()).peer(here);
  const stream = await begin(there, "ask_user");
  const question = await asker(stream);
  const send = run.records.send.bind(run.records);
  const full = new Error("the disk is full");
  Object.assign(run.records, { send: () => Promise.reject(full) });
  const refused = await here.post(accept(question, { name: "Ann" }));
  expect([refused.status, run.errors]).toEqual([503, [full]]);
  Object.assign(run.records, { send });
  await here.post(accept(question, { name: "Ann" }));
  expect(await stream.rest()).toMatchObject([{ result: text('user: accept {"name":"Ann"}') }]);
});

it("goes on in another process with the stream of a call that broke, while the first one lives", async () => {
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("job", {}, async () => {
        await gate.promise;
        return text(`run ${++runs}`);
      }),
  });
  const here = await run.open({ capabilities: {} });
  const stream = await begin(here, "job");
  const opened = await stream.any();
  await stream.response.body?.cancel().catch(() => undefined);
  const resumed = await (await run.beside()).peer(here).listen(opened?.id);
  gate.resolve();
  expect(await resumed.rest()).toMatchObject([{ result: text("run 1") }]);
});

/** A call without a task, in a session of two processes: its tool runs until the test ends it. */
async function plainCall() {
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("job", { plain: "wait" }, async () => {
        runs += 1;
        const own = runs;
        await gate.promise;
        return text(`run ${own}`);
      }),
  });
  const here = await run.open({ capabilities: {} });
  const other = await run.beside();
  const there = other.peer(here);
  await status(there);
  const call = { id: "call", method: "tools/call", params: { name: "job", arguments: {} } };
  const stream = await here.post(call);
  const [task] = await until(
    () => run.tasksOf("call"),
    (tasks) => tasks.length > 0,
  );
  return { run, here, there, stream, end: gate.resolve, id: task?.id ?? "" };
}

async function until<T>(read: () => Promise<T>, is: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (is(value)) return value;
    await new Promise(setImmediate);
  }
}

it("cancels a call without a task in the process where its caller waits, wherever the cancel comes", async () => {
  const { run, there, stream, end } = await plainCall();
  await there.post({ method: "notifications/cancelled", params: { requestId: "call" } });
  await stream.text();
  await until(
    () => run.tasksOf("call"),
    ([task]) => task?.state === "cancelled",
  );
  end();
});

it("gives a call without a task a grace whose cancel came to another process, and lets the same call join", async () => {
  const { run, there, stream, end } = await plainCall();
  const requestId = "call";
  await there.post({
    method: "notifications/cancelled",
    params: { requestId, reason: "Request timed out" },
  });
  await stream.text();
  await until(
    () => run.tasksOf("call"),
    ([task]) => task?.cancelBy !== null,
  );
  const again = there.call("job");
  end();
  expect(await again).toMatchObject({ result: text("run 1") });
});

it("ends no call with a ticket whose cancel comes late, and to another process", async () => {
  const gate = Promise.withResolvers<void>();
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("job", { plainDeadlineMs: 1 }, async () => {
        await gate.promise;
        return text("done");
      }),
  });
  const here = await run.open({ capabilities: {} });
  const there = (await run.beside()).peer(here);
  const params = { name: "job", arguments: {} };
  await (await here.post({ id: "call", method: "tools/call", params })).text();
  await there.post({ method: "notifications/cancelled", params: { requestId: "call" } });
  await rest();
  expect(await run.tasksOf("call")).toMatchObject([{ state: "running", promised: true }]);
  gate.resolve();
});
