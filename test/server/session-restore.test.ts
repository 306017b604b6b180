import { expect, it, vi } from "vitest";
import { sessionKey } from "../../src/server/http/sessions/session-records.ts";
import type { SessionStore } from "../../src/store/session-store.ts";
import { rest } from "../../src/testing/clocks.ts";
import { type Message, formClient, text } from "../kit/messages.ts";
import type { EventStream, SessionClient } from "../kit/session-client.ts";
import { minute, processes } from "./restarted-sessions.ts";

const status = async (peer: SessionClient): Promise<number> => {
  const response = await peer.post({ id: "status", method: "ping" });
  await response.body?.cancel();
  return response.status;
};

it.each(["kill", "stop"] as const)(
  "goes on with a session after a %s, with what its client had set",
  async (end) => {
    const subscribed: string[][] = [];
    const run = await processes({
      own: (mcp) => {
        const uris: string[] = [];
        subscribed.push(uris);
        mcp.server.registerCapabilities({ resources: { subscribe: true } });
        mcp.server.setRequestHandler("resources/subscribe", ({ params }) => (uris.push(params.uri), {}));
        mcp.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
          uris.splice(uris.indexOf(params.uri), 1);
          return {};
        });
      },
    });
    const peer = await run.open({ capabilities: { roots: {} } });
    await peer.request("logging/setLevel", { level: "warning" });
    for (const uri of ["test://a", "test://b", "test://a"])
      await peer.request("resources/subscribe", { uri });
    await peer.request("resources/unsubscribe", { uri: "test://b" });
    await run[end]();
    expect(await peer.call("echo", { say: "still here" })).toMatchObject({ result: text("still here") });
    expect(run.made.length).toBe(2);
    expect(subscribed).toEqual([["test://a", "test://a"], ["test://a"]]);
    const [, mcp] = run.made;
    expect(mcp?.server.getClientVersion()).toEqual({ name: "desk", version: "1" });
    expect(mcp?.server.getClientCapabilities()).toEqual({ roots: {} });
    const stream = await peer.listen();
    for (const level of ["info", "warning"] as const)
      await mcp?.sendLoggingMessage({ level, data: level }, peer.sessionId);
    expect(await stream.message()).toMatchObject({ params: { level: "warning" } });
    // The next process knows as much.
    run.kill();
    await peer.request("resources/subscribe", { uri: "test://c" });
    expect(subscribed.at(-1)).toEqual(["test://a", "test://c"]);
    expect(run.errors).toEqual([]);
  },
);

it("finds a session for its principal alone, by its id alone, and answers all others as before", async () => {
  const run = await processes();
  const peer = await run.open();
  const id = peer.sessionId ?? "";
  run.kill();
  const odd = ["", "x", sessionKey(id), id.toUpperCase(), `${id} `, "a".repeat(10_000), crypto.randomUUID()];
  const others = [...odd.map((each) => run.peer(each, "ann")), run.peer(id, "bob"), run.peer(id, null)];
  for (const other of others.filter(({ sessionId }) => sessionId !== `${id} `)) {
    const response = await other.post({ id: 1, method: "ping" });
    expect([response.status, await response.json()]).toEqual([
      404,
      { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
    ]);
  }
  expect(run.made.length).toBe(1);
  expect(await status(peer)).toBe(200);
});

it("makes one server for all requests that come at once after a restart", async () => {
  const run = await processes();
  const peer = await run.open();
  run.kill();
  const [stranger, ...statuses] = await Promise.all([
    status(run.peer(peer.sessionId ?? "", "bob")),
    ...Array.from({ length: 20 }, () => status(peer)),
  ]);
  expect([stranger, new Set(statuses), run.made.length]).toEqual([404, new Set([200]), 2]);
});

it("makes few servers at a time when two hundred sessions come back at once", async () => {
  let making = 0;
  let most = 0;
  const gate = Promise.withResolvers<void>();
  let gated = false;
  const run = await processes({
    own: ({ server }) => {
      const answer = server.setRequestHandler.bind(server);
      answer("logging/setLevel", async () => {
        if (gated) {
          making += 1;
          most = Math.max(most, making);
          await gate.promise;
          making -= 1;
        }
        return {};
      });
    },
  });
  const peers: SessionClient[] = [];
  for (let n = 0; n < 200; n++) {
    const peer = await run.open();
    await peer.request("logging/setLevel", { level: "info" });
    peers.push(peer);
  }
  run.kill();
  gated = true;
  const back = Promise.all(peers.map(status));
  await vi.waitUntil(() => making === 32, { timeout: 20_000 });
  await rest();
  expect(making).toBe(32);
  gate.resolve();
  expect(new Set(await back)).toEqual(new Set([200]));
  expect([most, run.size()]).toEqual([32, 200]);
});

it("answers 404 where the author's server cannot be made anew or refuses the handshake, and says why", async () => {
  let broken: "nothing" | "factory" | "handshake" = "nothing";
  const run = await processes({
    own: (mcp) => {
      if (broken === "factory") throw new Error("database is down");
      if (broken === "handshake") {
        mcp.server.setRequestHandler("initialize", () => {
          throw new Error("not today");
        });
      }
    },
  });
  const peer = await run.open();
  for (broken of ["factory", "handshake"] as const) {
    run.kill();
    expect(await status(peer)).toBe(404);
  }
  expect(run.errors).toMatchObject([
    { message: "database is down" },
    { message: expect.stringContaining("refused") as unknown },
  ]);
  expect(run.size()).toBe(0);
  broken = "nothing"; // it was not deleted
  expect(await status(peer)).toBe(200);
});

it("gives up a session whose author's server does not answer the handshake, and closes that server", async () => {
  let stuck = false;
  const run = await processes({
    own: (mcp) => {
      if (stuck) mcp.server.setRequestHandler("initialize", () => new Promise(() => undefined));
    },
  });
  const peer = await run.open();
  run.kill();
  stuck = true;
  const refused = status(peer);
  await rest();
  await run.clock.advance(30_000);
  expect(await refused).toBe(404);
  expect(run.errors).toMatchObject([{ message: expect.stringContaining("30000 ms") as unknown }]);
  stuck = false;
  expect(await status(peer)).toBe(200);
});

it("goes on without what the author's server does not have any more, and says so", async () => {
  let has = true;
  const run = await processes({
    own: ({ server }) => {
      server.registerCapabilities({ resources: { subscribe: true } });
      if (has) server.setRequestHandler("resources/subscribe", () => ({}));
    },
  });
  const peer = await run.open();
  await peer.request("resources/subscribe", { uri: "test://note" });
  run.kill();
  has = false;
  expect(await status(peer)).toBe(200);
  expect(run.errors).toMatchObject([{ message: expect.stringContaining("resources/subscribe") as unknown }]);
});

it("stores that a session is used once in a quarter of its idle time, and deletes it when it has ended", async () => {
  const run = await processes();
  const [idle, used, listening, unused] = [
    await run.open(),
    await run.open(),
    await run.open(),
    await run.open(),
  ];
  await listening.listen();
  const extended: number[] = [];
  const extend = run.records.extend.bind(run.records);
  Object.assign(run.records, {
    extend: (ends: readonly unknown[]) => (extended.push(ends.length), extend(ends as never)),
  });
  for (let n = 0; n < 100; n++) expect(await status(used)).toBe(200);
  expect(extended).toEqual([]);
  for (let minutes = 0; minutes < 39; minutes++) {
    await run.clock.advance(minute);
    expect(await status(used)).toBe(200);
  }
  expect(extended.length).toBe(3);
  run.kill();
  // What was stored last is a quarter old at most.
  await run.clock.advance(25 * minute);
  expect(await Promise.all([idle, used, listening, unused].map(status))).toEqual([404, 200, 200, 404]);
  await run.clock.advance(10 * minute);
  await rest();
  for (const { sessionId = "" } of [idle, unused]) {
    expect(await run.records.get(sessionKey(sessionId))).toBeUndefined();
  }
});

it.each(["kill", "stop"] as const)(
  "keeps an idle session for its time although the clock was set ahead, also over a %s",
  async (end) => {
    const run = await processes();
    const [peer, gone] = [await run.open(), await run.open()];
    expect(await Promise.all([peer, gone].map(status))).toEqual([200, 200]);
    await run.clock.advance(9 * minute);
    run.clock.jump(24 * 60 * minute);
    await run.clock.advance(11 * minute);
    await rest();
    await run[end]();
    expect(await status(peer)).toBe(200);
    await run.clock.advance(21 * minute);
    expect(await Promise.all([peer, gone].map(status))).toEqual([200, 404]);
    expect(run.errors).toEqual([]);
  },
);

it("keeps an unused session for a minute, also over a restart", async () => {
  const run = await processes();
  const response = await run.peer(undefined, "ann").initialize();
  await response.text();
  const peer = run.peer(response.headers.get("mcp-session-id") ?? "", "ann");
  const used = await run.open();
  run.kill();
  await run.clock.advance(minute - 1);
  expect(await run.records.get(sessionKey(peer.sessionId ?? ""))).toBeDefined();
  await run.clock.advance(1);
  expect([await status(peer), await status(used)]).toEqual([404, 200]);
});

it("deletes what a client ends, what idles out and what makes room", async () => {
  const run = await processes({ maxSessions: 2 });
  const deleted = await run.open();
  expect((await deleted.send("DELETE")).status).toBe(200);
  const [evicted, stays] = [await run.open(), await run.open()];
  await run.clock.advance(2 * minute);
  await status(stays);
  const next = await run.open();
  run.kill();
  expect(await Promise.all([deleted, evicted, stays, next].map(status))).toEqual([404, 404, 200, 200]);
  // Nobody has to come back for it first.
  run.kill();
  expect((await stays.send("DELETE")).status).toBe(200);
  run.kill();
  expect(await status(stays)).toBe(404);
  await status(next);
  await run.clock.advance(40 * minute);
  expect(run.size()).toBe(0);
  expect(await run.records.get(sessionKey(next.sessionId ?? ""))).toBeUndefined();
});

it("stores no more sessions than it may, and no more of a principal", async () => {
  const run = await processes({ maxSessions: 10, maxSessionsPerPrincipal: 3 });
  const peers: SessionClient[] = [];
  for (let n = 0; n < 12; n++) {
    peers.push(await run.open({}, "ann"));
    if (n % 3 === 2) run.kill(); // this process knows none of them
  }
  const stored = await Promise.all(peers.map(({ sessionId = "" }) => run.records.get(sessionKey(sessionId))));
  expect(stored.filter((each) => each !== undefined).length).toBe(3);
  for (let n = 0; n < 12; n++) {
    await run.open({}, `user ${n}`);
    run.kill();
  }
  expect(await run.records.deleteExpired(Infinity, 100)).toBe(10);
});

it("serves a session that cannot be stored, reports why, and does not store what is too large", async () => {
  const run = await processes();
  const full = new Error("the disk is full");
  const put = run.records.put.bind(run.records);
  Object.assign(run.records, { put: () => Promise.reject(full), update: () => Promise.reject(full) });
  const peer = await run.open();
  await peer.request("logging/setLevel", { level: "info" });
  expect(await peer.call("echo", { say: "here" })).toMatchObject({ result: text("here") });
  expect(run.errors).toEqual([full, full]);
  Object.assign(run.records, { put });
  const large = await run.open({
    capabilities: { experimental: { filler: { text: "x".repeat(64 * 1024) } } },
  });
  expect(await status(large)).toBe(200);
  run.kill();
  expect(await Promise.all([peer, large].map(status))).toEqual([404, 404]);
});

it("takes no session for lost because the store cannot be read", async () => {
  const run = await processes();
  const peer = await run.open();
  run.kill();
  const get = run.records.get.bind(run.records);
  Object.assign(run.records, { get: () => Promise.reject(new Error("locked")) });
  const response = await peer.post({ id: 1, method: "ping" });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  Object.assign(run.records, { get });
  expect(await status(peer)).toBe(200);
});

it("finds no session that was deleted while the store failed", async () => {
  const run = await processes();
  const peer = await run.open();
  const remove = run.records.delete.bind(run.records);
  Object.assign(run.records, {
    delete: () => Promise.reject(new Error("locked")),
  } satisfies Partial<SessionStore>);
  expect((await peer.send("DELETE")).status).toBe(200);
  expect(await status(peer)).toBe(404);
  Object.assign(run.records, { delete: remove });
  await run.clock.advance(10 * minute);
  await rest();
  run.kill();
  expect(await status(peer)).toBe(404);
});

it("asks again on the session's stream what a task asked before the restart [A-14]", async () => {
  const requestedSchema = { type: "object" as const, properties: {} };
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("asks", {}, async (_, task) => {
        const { action } = await task.elicit("sure", { message: "Sure?", requestedSchema });
        return text(action);
      }),
  });
  const peer = await run.open({ capabilities: formClient });
  const started = await peer.request("tools/call", { name: "asks", arguments: {}, task: {} });
  const { taskId } = (started["result"] as { task: { taskId: string } }).task;
  run.kill();
  const stream = await peer.listen();
  let message: Message | undefined;
  do message = await stream.message();
  while (message?.["method"] !== "elicitation/create");
  expect(message).toMatchObject({ params: { message: "Sure?" } });
  await peer.post({ id: message["id"], result: { action: "decline" } });
  expect(await peer.request("tasks/result", { taskId })).toMatchObject({ result: text("decline") });
});

it("sends on the stream of a session what its server said while the session was restored", async () => {
  const run = await processes({
    own: (mcp) => {
      mcp.server.oninitialized = () => mcp.sendToolListChanged();
    },
  });
  const peer = await run.open();
  const opened = await (await peer.listen()).any();
  run.kill();
  const stream = await peer.listen(opened?.id);
  expect(await stream.message()).toMatchObject({ method: "notifications/tools/list_changed" });
});

it("takes a late answer to a question of the earlier process for none of this one", async () => {
  const run = await processes();
  const peer = await run.open({ capabilities: formClient });
  const ask = async (): Promise<{ stream: EventStream; question: Message | undefined }> => {
    const stream = await peer.begin("tools/call", { name: "ask_user", arguments: {} });
    return { stream, question: await stream.message() };
  };
  const answer = (question: Message | undefined, name: string): Promise<Response> =>
    peer.post({ id: question?.["id"], result: { action: "accept", content: { name } } });
  const { question: early } = await ask();
  run.kill();
  const { stream, question } = await ask();
  expect((await answer(early, "early")).status).toBe(202);
  expect((await answer(question, "late")).status).toBe(202);
  expect(await stream.message()).toMatchObject({ result: text('user: accept {"name":"late"}') });
});

it("lets a session that nobody uses after its restart end in its time, although it is killed at once", async () => {
  const run = await processes();
  const peer = await run.open();
  run.kill();
  expect(await status(peer)).toBe(200);
  const stored = await run.records.get(sessionKey(peer.sessionId ?? ""));
  expect(stored?.expiresAt).toBe(run.clock.now() + 40 * minute);
});

it("closes a session that a stop finds half restored, and has its client come again", async () => {
  let gate: PromiseWithResolvers<object> | undefined;
  const run = await processes({
    own: ({ server }) => {
      server.registerCapabilities({ resources: { subscribe: true } });
      server.setRequestHandler("resources/subscribe", () => gate?.promise ?? {});
    },
  });
  const peer = await run.open();
  await peer.request("resources/subscribe", { uri: "test://a" });
  run.kill();
  const waits = (gate = Promise.withResolvers<object>());
  const back = status(peer);
  await rest();
  await run.stop();
  gate = undefined;
  waits.resolve({});
  expect(await back).toBe(503);
  expect(await status(peer)).toBe(200);
});

it("keeps of a session's subscriptions no more than fits", async () => {
  const subscribed: string[][] = [];
  const run = await processes({
    own: ({ server }) => {
      const uris: string[] = [];
      subscribed.push(uris);
      server.registerCapabilities({ resources: { subscribe: true } });
      server.setRequestHandler("resources/subscribe", ({ params }) => (uris.push(params.uri), {}));
    },
  });
  const peer = await run.open();
  const large = `test://${"x".repeat(64 * 1024)}`;
  for (const uri of ["test://a", large, "test://b"]) await peer.request("resources/subscribe", { uri });
  run.kill();
  expect(await status(peer)).toBe(200);
  expect(subscribed).toEqual([
    ["test://a", large, "test://b"],
    ["test://a", "test://b"],
  ]);
});

it("keeps a session with an unfinished task in the store, and in no memory, when it idles out or makes room", async () => {
  const gate = Promise.withResolvers<void>();
  const run = await processes({
    tools: (tasks) =>
      tasks.tool("job", {}, async () => {
        await gate.promise;
        return text("done");
      }),
    maxSessions: 2,
  });
  const start = async (peer: SessionClient): Promise<string> => {
    const { result } = await peer.request("tools/call", { name: "job", arguments: {}, task: {} });
    return (result as { task: { taskId: string } }).task.taskId;
  };
  const poll = async (peer: SessionClient, taskId: string): Promise<unknown> =>
    ((await peer.request("tasks/get", { taskId })).result as { status?: string } | undefined)?.status;
  const [ann, none] = [await run.open(), await run.open()];
  const taskId = await start(ann);
  await status(none);
  await run.clock.advance(41 * minute);
  await rest();
  expect(run.size()).toBe(0);
  await run.clock.advance(24 * 60 * minute);
  expect(await poll(ann, taskId)).toBe("working");
  expect(await status(none)).toBe(404);

  await run.open();
  await run.clock.advance(2 * minute);
  await run.open(); // in the place of the one that is idle for longest
  await rest();
  await run.clock.advance(2 * minute);
  expect(await poll(ann, taskId)).toBe("working");
  gate.resolve();
});
