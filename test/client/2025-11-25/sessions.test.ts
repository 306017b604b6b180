import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { type HandleStore, memoryHandles } from "../../../src/client/handles/handle-store.ts";
import type { TaskClient } from "../../../src/client/task-client.ts";
import { FakeClock } from "../fake-clock.ts";
import { approval, related, sent, task, taskId } from "./core-peer.ts";
import { error, json, noSession, SessionServer, SessionStream, type Seen } from "./session-server.ts";

const created = json({ task: task("working") });
const accept = { action: "accept" as const, content: { ok: true } };

it("begins a new session when the server has lost it, and goes on [B-107]", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  server.script("tools/call", created);
  const handle = await client.startTool("publish_report");
  server.forgetSession();
  server.script("tasks/get", noSession, json(task("completed")));
  server.script("tasks/result", json(sent));
  expect(await handle.result()).toEqual(sent);
  expect(server.of("tasks/get").map(({ session }) => session)).toEqual(["session-1", "session-2"]);
  expect(server.of("initialize").map(({ body }) => body["params"])).toEqual(
    Array<unknown>(2).fill(server.of("initialize")[0]?.body["params"]),
  );
  expect(server.of("initialize").map(({ session }) => session)).toEqual([undefined, undefined]);
  expect(server.of("notifications/initialized")).toHaveLength(2);
});

it("takes the word of a server that answers 400 for a session that it does not know [A-36]", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  const unknown = error({ code: -32000, message: "Bad Request: No valid session ID provided" }, 400);
  server.script("tools/list", unknown, json({ tools: [] }));
  await client.sdk.listTools();
  expect(server.of("tools/list").map(({ session }) => session)).toEqual(["session-1", "session-2"]);
  // If a new session does not help, that is the answer.
  server.script("tools/call", unknown, unknown);
  await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "rpc" });
  expect(server.of("initialize")).toHaveLength(3);
});

it("makes one session of many requests that find the old one gone", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  server.forgetSession();
  await Promise.all([1, 2, 3].map(() => client.sdk.listTools()));
  expect(server.of("initialize")).toHaveLength(2);
});

it("tries again while the server cannot begin a session, and gives up where it refuses to", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  server.script("tools/call", created);
  const handle = await client.startTool("publish_report");
  server.forgetSession();
  server.script("initialize", (response) => void response.writeHead(503).end());
  server.script("tasks/get", noSession, noSession, json(task("completed")));
  server.script("tasks/result", json(sent));
  expect(await handle.result()).toEqual(sent);
  server.forgetSession();
  server.script("initialize", (response) => void response.writeHead(401).end());
  await expect(handle.get()).rejects.toMatchObject({ code: "unauthorized" });
});

it("comes back to the stream of the session, from where it was [B-069 B-095]", async () => {
  const server = await SessionServer.start();
  const [first, second] = [new SessionStream(), new SessionStream()];
  server.script("GET", first.begin, second.begin);
  const client = await server.connect({ onInput: async () => accept });
  server.script("tools/call", created);
  server.script("tasks/get", json(task("completed")));
  server.script("tasks/result", json(sent));
  const handle = await client.startTool("publish_report");
  await first.send({ id: 6, method: "ping" }, "event-1");
  await first.write(": a comment\n\n");
  await server.sees("answer");
  await first.break();
  await server.sees("GET", 2);
  expect(server.of("GET").map(({ lastEventId }) => lastEventId)).toEqual([undefined, "event-1"]);
  const waiting = handle.result();
  await second.send({ id: 7, method: "elicitation/create", params: approval });
  await server.sees("answer", 2);
  expect(server.of("answer")[1]?.body).toMatchObject({ id: 7, result: { ...accept, _meta: related } });
  await waiting;
});

it("lets the server say when to come back, and asks once for a stream that there is not [B-071]", async () => {
  const server = await SessionServer.start();
  const stream = new SessionStream();
  server.script("GET", stream.begin);
  const clock = new FakeClock();
  clock.hold();
  await server.connect({}, clock);
  await stream.write("retry: 40000\n\n");
  await stream.end();
  (await clock.nap(40_000)).wake();
  await server.sees("GET", 2);
  expect(clock.armed).toBe(0);
});

it("begins a new session when the stream says that the old one is gone", async () => {
  const server = await SessionServer.start();
  const stream = new SessionStream();
  server.script("GET", stream.begin);
  await server.connect();
  await server.sees("GET");
  server.forgetSession();
  await stream.end();
  await server.sees("notifications/initialized", 2);
  await server.sees("GET", 3);
  expect(server.of("GET").map(({ session }) => session)).toEqual(["session-1", "session-1", "session-2"]);
});

it.each([
  ["a request", async (client: TaskClient) => void (await client.sdk.listTools()), ["session-2"]],
  ["the answer itself", async () => undefined, ["session-1", "session-2"]],
])(
  "answers a question in the session that asks it, where %s finds the old one gone",
  async (_, findsOut, expected) => {
    const server = await SessionServer.start();
    const [first, second] = [new SessionStream(), new SessionStream()];
    server.script("GET", first.begin, second.begin);
    const answering = Promise.withResolvers<typeof accept>();
    let asked = 0;
    const isAsked = Promise.withResolvers<void>();
    const client = await server.connect({
      onInput: () => {
        asked++;
        isAsked.resolve();
        return answering.promise;
      },
    });
    server.script("tools/call", created);
    const handle = await client.startTool("publish_report");
    const waiting = handle.result();
    const input = { ...task("input_required"), pollInterval: 10 };
    server.script("tasks/get", ...Array.from({ length: 400 }, () => json(input)));
    server.script(
      "tasks/result",
      new SessionStream().begin,
      new SessionStream().begin,
      new SessionStream().begin,
    );
    await first.send({ id: 1, method: "elicitation/create", params: approval });
    await isAsked.promise;
    server.forgetSession();
    await findsOut(client);
    answering.resolve(accept);
    await server.sees("initialize", 2);
    await second.send({ id: 1, method: "elicitation/create", params: approval });
    await server.sees("answer", expected.length);
    expect(server.of("answer").map(({ session }) => session)).toEqual(expected);
    expect(asked).toBe(1);
    server.script("tasks/get", json(task("completed", {}, 9)));
    server.script("tasks/result", json(sent));
    await waiting;
  },
);

it.each([
  ["again", "that recognises its key", { "holdfast/idempotencyKey": {} }],
  ["no second time", "that does not", {}],
])("sends a call %s to a server %s, when its answer was lost [A-48]", async (again, _, experimental) => {
  const server = await SessionServer.start();
  server.capabilities = { ...server.capabilities, experimental };
  const client = await server.connect();
  server.script("tools/call", (response) => void response.destroy(), created);
  const starting = client.startTool("publish_report");
  if (again === "again") expect((await starting).taskId).toBe(taskId);
  else await expect(starting).rejects.toMatchObject({ code: "connection" });
  const calls = server.of("tools/call").map(({ body }) => (body["params"] as { _meta: object })._meta);
  expect(calls).toHaveLength(again === "again" ? 2 : 1);
  if (again === "again") expect(calls[1]).toEqual({ ...calls[0], "holdfast/repeat": true });
});

it("asks for a result again when the stream of tasks/result breaks [C-064]", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  server.script("tools/call", created);
  const handle = await client.startTool("publish_report");
  const broken = new SessionStream();
  server.script("tasks/result", broken.begin, json(sent));
  server.script("tasks/get", json(task("completed")), json(task("completed")));
  const result = handle.result();
  await server.sees("tasks/result");
  await broken.break();
  expect(await result).toEqual(sent);
  expect(server.of("tasks/get")).toHaveLength(2);
});

it("gives a task up when the ttl is over that counts from its creation [C-P-003]", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({}, clock);
  // By the server's own time, its last word comes twenty seconds after the creation.
  server.script(
    "tools/call",
    json({ task: task("working", { ttl: 60_000, lastUpdatedAt: "2026-10-01T00:00:20Z" }) }),
  );
  const handle = await client.startTool("publish_report", {}, { ttlMs: 60_000 });
  server.script(
    "tasks/get",
    ...Array.from({ length: 100 }, () => (response: ServerResponse) => void response.destroy()),
  );
  const start = clock.now();
  await expect(handle.result()).rejects.toMatchObject({ code: "expired", taskId });
  expect(clock.now() - start).toBe(40_000);
});

it("waits for as long as a server asks that is asked too often", async () => {
  const server = await SessionServer.start();
  const clock = new FakeClock();
  const client = await server.connect({}, clock);
  server.script("tools/call", created);
  const handle = await client.startTool("publish_report");
  const tooFast = { code: -32000, message: "Too many polls", data: { retryAfterMs: 7_000 } };
  server.script("tasks/get", error(tooFast), json(task("completed")));
  server.script("tasks/result", json(sent));
  expect(await handle.result()).toEqual(sent);
  expect(clock.naps).toContain(7_000);
});

it("takes a plain call back over HTTP too, where leaving its stream says nothing [C-053 C-087 B-079]", async () => {
  const server = await SessionServer.start();
  server.capabilities = { tools: {} };
  const client = await server.connect();
  server.script("tools/call", new SessionStream().begin);
  const leaving = new AbortController();
  const call = client.callTool("publish_report", {}, { signal: leaving.signal });
  await server.sees("tools/call");
  leaving.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
  await server.sees("notifications/cancelled");
  const [cancelled] = server.of("notifications/cancelled");
  expect(cancelled?.body["params"]).toMatchObject({ requestId: server.of("tools/call")[0]?.body["id"] });
});

describe("a task that is kept with its session", () => {
  const unknown = error({ code: -32602, message: "Task not found" });
  const only = (session: string, usual: ReturnType<typeof json>): typeof usual => {
    return (response, message: Pick<Seen, "body"> & Partial<Seen>) =>
      (message.session === session ? usual : unknown)(response, message);
  };

  /** A client has started it, and was closed, or was killed before it could keep the session. */
  async function leftTask({ killed = false } = {}): Promise<{ server: SessionServer; handles: HandleStore }> {
    const server = await SessionServer.start();
    const handles = memoryHandles();
    const first = await server.connect({ handles });
    server.script("tools/call", created);
    await first.startTool("publish_report");
    await first.close();
    const session = await handles.findSession(server.url, "2025-11-25");
    if (killed && session !== undefined) await handles.dropSession(session);
    return { server, handles };
  }

  it("leaves its session at the server, which the next client takes up and ends", async () => {
    const { server, handles } = await leftTask();
    expect(server.of("DELETE")).toEqual([]);
    const second = await server.connect({ handles });
    expect(second.sdk.getServerCapabilities()).toMatchObject({ tools: {} });
    expect(second.sdk.getNegotiatedProtocolVersion()).toBe("2025-11-25");
    server.script("tasks/get", only("session-1", json(task("completed"))));
    server.script("tasks/result", only("session-1", json(sent)));
    const [call] = await second.pending();
    expect(await (await call?.take())?.result()).toEqual(sent);
    expect(await second.pending()).toEqual([]);
    await second.close();
    expect(server.of("initialize")).toHaveLength(1);
    expect(server.of("notifications/initialized")).toHaveLength(1);
    expect(server.of("DELETE").map(({ session }) => session)).toEqual(["session-1"]);
    expect(await handles.findSession(server.url, "2025-11-25")).toBeUndefined();
  });

  it("asks on the session's own stream, which the next client opens", async () => {
    const server = await SessionServer.start();
    const handles = memoryHandles();
    const onInput = async () => accept;
    const [own, next] = [new SessionStream(), new SessionStream()];
    server.script("GET", own.begin, next.begin);
    server.script("tools/call", created);
    const first = await server.connect({ handles, onInput });
    await first.startTool("publish_report");
    await server.sees("GET");
    await first.close();
    const second = await server.connect({ handles, onInput });
    const input = { ...task("input_required"), pollInterval: 10 };
    server.script("tasks/get", ...Array.from({ length: 400 }, () => json(input)));
    server.script("tasks/result", new SessionStream().begin);
    const [call] = await second.pending();
    const result = (await call?.take())?.result();
    await next.send({ id: 7, method: "elicitation/create", params: approval });
    await server.sees("answer");
    expect(server.of("answer")[0]).toMatchObject({ session: "session-1", body: { id: 7, result: accept } });
    expect(server.of("initialize")).toHaveLength(1);
    server.script("tasks/get", json(task("completed", {}, 9)));
    server.script("tasks/result", json(sent));
    expect(await result).toEqual(sent);
  });

  it("keeps its session from a client that declares other capabilities", async () => {
    const { server, handles } = await leftTask();
    server.knows("session-1");
    const second = await server.connect({ handles, onInput: async () => accept });
    await second.sdk.listTools();
    expect(server.of("tools/list").at(-1)?.session).toBe("session-2");
    await second.close();
    expect(await handles.findSession(server.url, "2025-11-25")).toMatchObject({ id: "session-1" });
  });

  it("has a session with ids that none of its clients used before", async () => {
    const { server, handles } = await leftTask();
    for (let times = 0; times < 2; times++) {
      const next = await server.connect({ handles });
      await next.sdk.listTools();
      await next.close();
    }
    const requests = server.seen.filter(({ what, body }) => what !== "answer" && body["id"] !== undefined);
    const ids = requests.map(({ body }) => body["id"]);
    expect(server.of("tools/list").length).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(requests.slice(1).map(({ session }) => session))).toEqual(new Set(["session-1"]));
  });

  it("has a session that is taken up by one client at a time", async () => {
    const { server, handles } = await leftTask();
    server.knows("session-1");
    const [second, third] = [await server.connect({ handles }), await server.connect({ handles })];
    await second.sdk.listTools();
    await third.sdk.listTools();
    const sessions = server.of("tools/list").map(({ session }) => session);
    expect(sessions.slice(-2)).toEqual(["session-1", "session-2"]);
    await third.close();
    await second.close();
    expect(server.of("DELETE").map(({ session }) => session)).toEqual(["session-2"]);
    expect(await handles.findSession(server.url, "2025-11-25")).toMatchObject({ id: "session-1" });
  });

  it("begins a new session where the server has lost the old one, and forgets that", async () => {
    const { server, handles } = await leftTask();
    server.forgetSession();
    const second = await server.connect({ handles });
    await second.sdk.listTools();
    expect(server.of("tools/list").at(-1)?.session).toBe("session-2");
    expect(await handles.findSession(server.url, "2025-11-25")).toBeUndefined();
  });

  it("keeps its session for later where the server does not say whether it knows it", async () => {
    const { server, handles } = await leftTask();
    server.knows("session-1");
    server.script("ping", (response) => void response.writeHead(503).end());
    const second = await server.connect({ handles });
    await second.close();
    expect(server.of("DELETE").map(({ session }) => session)).toEqual(["session-2"]);
    const third = await server.connect({ handles });
    await third.sdk.listTools();
    expect(server.of("tools/list").at(-1)?.session).toBe("session-1");
  });

  it("has a session that no other origin is told of [B-102]", async () => {
    const [one, other] = [await SessionServer.start(), await SessionServer.start()];
    const handles = memoryHandles();
    const first = await one.connect({ handles, serverName: "reports" });
    one.script("tools/call", created);
    await first.startTool("publish_report");
    await first.close();
    // Its own session has the number after that.
    await (await other.connect()).close();
    const second = await other.connect({ handles, serverName: "reports" });
    other.script("tasks/get", unknown, unknown);
    const [call] = await second.pending();
    await expect((await call?.take())?.result()).rejects.toMatchObject({ code: "expired" });
    await second.close();
    expect(other.of("ping")).toEqual([]);
    expect(other.of("tasks/get").map(({ session }) => session)).toEqual(["session-2"]);
  });

  it("is asked for in its session by the client after one that was killed", async () => {
    const { server, handles } = await leftTask({ killed: true });
    server.knows("session-1");
    const second = await server.connect({ handles });
    server.script("tasks/get", unknown, only("session-1", json(task("completed"))));
    server.script("tasks/result", only("session-1", json(sent)));
    const [call] = await second.pending();
    expect(await (await call?.take())?.result()).toEqual(sent);
    expect(server.of("tasks/get").map(({ session }) => session)).toEqual(["session-2", "session-1"]);
    await second.close();
    expect(server.of("DELETE").map(({ session }) => session)).toEqual(["session-2"]);
  });

  it("leaves its session where the handle store fails, which keeps no client from closing", async () => {
    const server = await SessionServer.start();
    const failing = {
      ...memoryHandles(),
      usesSession: async () => Promise.reject(new Error("the disk is gone")),
    };
    const client = await server.connect({ handles: failing });
    server.script("tools/call", created);
    await client.startTool("publish_report");
    await client.close();
    expect(client.sdk.transport).toBeUndefined();
    expect(server.of("DELETE")).toEqual([]);
  });

  it("does not keep its session once a wait was told the end", async () => {
    const server = await SessionServer.start();
    const client = await server.connect({ handles: memoryHandles() });
    server.script("tools/call", created);
    server.script("tasks/get", json(task("completed")));
    server.script("tasks/result", json(sent));
    expect(await client.callTool("publish_report")).toEqual(sent);
    await client.close();
    expect(server.of("DELETE")).toHaveLength(1);
  });

  it("is unknown once its session is gone while somebody waits", async () => {
    const { server, handles } = await leftTask({ killed: true });
    const second = await server.connect({ handles });
    server.script("tasks/get", unknown, json(task("working")), noSession, unknown, noSession);
    const [call] = await second.pending();
    const handle = await call?.take();
    await expect(handle?.result()).rejects.toMatchObject({ code: "expired" });
    expect(server.of("tasks/get")).toHaveLength(5);
    expect(await second.pending()).toHaveLength(1);
  });

  it("is unknown, and kept, where its session is gone too, which ends no other session", async () => {
    const { server, handles } = await leftTask({ killed: true });
    const second = await server.connect({ handles });
    server.script("tasks/get", unknown, noSession, unknown, noSession);
    for (let times = 0; times < 2; times++) {
      const [call] = await second.pending();
      const handle = await call?.take();
      await expect(handle?.result()).rejects.toMatchObject({ code: "expired" });
    }
    expect(server.of("initialize")).toHaveLength(2);
    expect(server.of("tasks/get").map(({ session }) => session)).toEqual([
      "session-2",
      "session-1",
      "session-2",
      "session-1",
    ]);
  });
});

it("ends the session when it is closed [B-108]", async () => {
  const server = await SessionServer.start();
  const client = await server.connect();
  await client.close();
  expect(server.of("DELETE").map(({ session }) => session)).toEqual(["session-1"]);
});
