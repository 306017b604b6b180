import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type HandleStore, memoryHandles } from "../../../src/client/handles/handle-store.ts";
import {
  acknowledged,
  approval,
  asking,
  cancelled,
  completed,
  created,
  failed,
  sent,
  taskId,
  unknownTask,
  working,
} from "../answers.ts";
import { discoveredHoldfast, discoveredKeeping, type Answer, type SeenRequest } from "../scripted-server.ts";
import { connectTo, setUp } from "../setup.ts";
import { storedCall } from "./calls.ts";
import { folderForHandles } from "./folder.ts";

const completedAsAsked = ({ params }: SeenRequest): Answer => completed(sent, { taskId: params["taskId"] });

const referenceAt = (server: string): object => ({ server, generation: "2026-07-28", taskId });

describe("a call that is kept", () => {
  it("is kept before it is sent, and with its task before the first poll", async () => {
    const handles = memoryHandles();
    const { server, client } = await setUp({ handles });
    const kept: unknown[] = [];
    const note = async (): Promise<void> => void kept.push((await handles.list()).calls);
    server.script("tools/call", async () => {
      await note();
      return created();
    });
    server.script("tasks/get", async () => {
      await note();
      return completed();
    });
    expect(await client.callTool("publish_report", { month: "2026-10" })).toEqual(sent);
    const call = { server: server.url, generation: "2026-07-28", tool: "publish_report" };
    expect(kept).toMatchObject([
      [{ ...call, args: { month: "2026-10" }, taskId: null }],
      [{ ...call, taskId }],
    ]);
    expect(await client.pending()).toEqual([]);
    expect((await handles.list()).calls).toEqual([]);
  });

  it("is off the list once it was answered directly, or refused", async () => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", { result: sent }, { error: { code: -32602, message: "no" } });
    await client.callTool("greet");
    await expect(client.callTool("greet")).rejects.toMatchObject({ code: "rpc" });
    expect(await client.pending()).toEqual([]);
  });

  it("is taken up by another client, with its task", async () => {
    const handles = memoryHandles();
    const { server, client, clock } = await setUp({ handles });
    server.script("tools/call", created());
    await client.startTool("publish_report", { month: "2026-10" });
    await client.close();
    const later = await connectTo(server, clock, { handles });
    server.script("tasks/get", completed());
    const [call, ...others] = await later.pending();
    expect(others).toEqual([]);
    expect(call).toMatchObject({
      reference: referenceAt(server.url),
      tool: "publish_report",
      args: { month: "2026-10" },
    });
    await expect(call?.take({ timeoutMs: -1 })).rejects.toThrow(RangeError);
    expect(await (await call?.take())?.result()).toEqual(sent);
    expect(await later.pending()).toEqual([]);
    expect(server.of("tools/call")).toHaveLength(1);
  });

  it("is sent again under its key where its answer never came, by a client whose server recognises it", async () => {
    const handles = memoryHandles();
    const { server, client, clock } = await setUp({ handles }, discoveredHoldfast);
    server.script("tools/call", "silence", created());
    const controller = new AbortController();
    const call = client.callTool("publish_report", { month: "2026-10" }, { signal: controller.signal });
    await server.sees("tools/call", 1);
    controller.abort(new Error("no patience"));
    await expect(call).rejects.toThrow("no patience");
    server.script("server/discover", { result: discoveredHoldfast });
    const later = await connectTo(server, clock, { handles });
    const [pending] = await later.pending();
    expect(pending?.reference).toBeNull();
    const handle = await pending?.take();
    expect(handle?.reference).toEqual(referenceAt(server.url));
    const [first, second] = server.of("tools/call").map(({ params }) => params);
    expect(second).toMatchObject({ name: first?.["name"], arguments: first?.["arguments"] });
    const key = "holdfast/idempotencyKey";
    expect(second?.["_meta"]).toMatchObject({
      [key]: (first?.["_meta"] as Record<string, string> | undefined)?.[key],
      "holdfast/repeat": true,
    });
  });
});

describe("what leaves the list", () => {
  it.each([
    ["failed", failed({ code: -32603, message: "broken" })],
    ["cancelled", cancelled()],
  ] as const)("is a task that %s, once a wait was told", async (code, answer) => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", created());
    const handle = await client.startTool("publish_report");
    expect(await client.pending()).toHaveLength(1);
    server.script("tasks/get", answer);
    await expect(handle.result()).rejects.toMatchObject({ code });
    expect(await client.pending()).toEqual([]);
  });

  it.each([
    ["a lost connection", { status: 404 }],
    ["a refused token", { status: 401 }],
    ["a broken answer", working({ taskId: "another" })],
  ] as const)("is no task of which %s keeps a wait from hearing", async (_what, answer) => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", created());
    server.script("tasks/get", answer);
    await expect(client.callTool("publish_report")).rejects.toThrow();
    expect(await client.pending()).toHaveLength(1);
  });

  it("is no task that the server does not know under this token, so that the right one finds it", async () => {
    const { server, client, clock } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", created({ ttlMs: 60_000 }));
    const { reference } = await client.startTool("publish_report");
    clock.set(86_400_000);
    for (const about of ["result", "get", "cancel"] as const) {
      server.script("tasks/get", unknownTask);
      server.script("tasks/cancel", unknownTask);
      const handle = await client.resume(reference);
      await expect(handle[about]()).rejects.toMatchObject({ error: { code: -32602 } });
    }
    const [call] = await client.pending();
    server.script("tasks/get", completed());
    expect(await (await call?.take())?.result()).toEqual(sent);
    expect(await client.pending()).toEqual([]);
  });

  it.each(["result", "get", "cancel"] as const)(
    "is a task that the server does not know a day after its life: %s",
    async (about) => {
      const { server, client, clock } = await setUp({ handles: memoryHandles() });
      server.script("tools/call", created({ ttlMs: 60_000 }));
      const handle = await client.startTool("publish_report");
      clock.set(60_000 + 86_400_000);
      expect(await client.pending()).toHaveLength(1);
      server.script("tasks/get", unknownTask);
      server.script("tasks/cancel", unknownTask);
      await expect(handle[about]()).rejects.toMatchObject({ error: { code: -32602 } });
      expect(await client.pending()).toEqual([]);
    },
  );

  it("is no unknown task whose life was extended since, or has no end", async () => {
    const handles = memoryHandles();
    const { server, client, clock } = await setUp({ handles });
    for (const ttlMs of [86_400_000, null]) {
      server.script("tools/call", created({ ttlMs: 60_000 }));
      const handle = await client.startTool("publish_report");
      server.script("tasks/get", working({ ttlMs }), unknownTask);
      await expect(handle.result()).rejects.toMatchObject({ code: "expired" });
      clock.set(60_000 + 86_400_000);
      server.script("tasks/get", unknownTask);
      const later = await client.resume(handle.reference);
      await expect(later.result()).rejects.toMatchObject({ code: "unknown_task" });
      expect(await client.pending()).toHaveLength(1);
      clock.set(0);
      await handles.dropTask({ server: server.url, generation: "2026-07-28", taskId });
    }
  });

  it("is no call that may have a task, though the same call is refused when it is made again", async () => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", "reset", { status: 401 });
    const options = { idempotencyKey: "a-key" };
    await expect(client.callTool("publish_report", {}, options)).rejects.toMatchObject({
      code: "connection",
    });
    await expect(client.callTool("publish_report", {}, options)).rejects.toMatchObject({
      code: "unauthorized",
    });
    expect(await client.pending()).toMatchObject([{ idempotencyKey: "a-key", reference: null }]);
  });

  it("is no task whose end a caller did not wait for", async () => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", created());
    const handle = await client.startTool("publish_report");
    server.script("tasks/get", completed());
    server.script("tasks/cancel", acknowledged);
    await handle.get();
    await handle.cancel();
    expect(await client.pending()).toHaveLength(1);
  });

  it("is a task that is taken up by its reference alone", async () => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", created());
    const { reference } = await client.startTool("publish_report");
    server.script("tasks/get", completed());
    const handle = await client.resume(reference);
    for await (const task of handle.updates()) if (task.status === "completed") break;
    expect(await client.pending()).toEqual([]);
  });

  it("is a task that was cancelled by the abort of its call", async () => {
    const { server, client, clock } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", created());
    server.script("tasks/cancel", acknowledged);
    clock.hold();
    const leaving = new AbortController();
    const options = { signal: leaving.signal, cancelOnAbort: true };
    const call = client.callTool("publish_report", {}, options);
    await clock.nap(2000);
    leaving.abort(new Error("no patience"));
    await expect(call).rejects.toThrow("no patience");
    expect(await client.pending()).toEqual([]);
  });

  it("is written down before the client is closed", async () => {
    const handles = memoryHandles();
    const slow = Promise.withResolvers<void>();
    const { server, client } = await setUp({
      handles: { ...handles, dropTask: async (task) => slow.promise.then(() => handles.dropTask(task)) },
    });
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    await client.callTool("publish_report");
    const closing = client.close();
    expect((await handles.list()).calls).toHaveLength(1);
    slow.resolve();
    await closing;
    expect((await handles.list()).calls).toEqual([]);
  });
});

it("forgets a call before the client is closed that was to be sent just then", async () => {
  const handles = memoryHandles();
  const isKept = Promise.withResolvers<void>();
  const { server, client } = await setUp({
    handles: {
      ...handles,
      keep: async (call) => isKept.promise.then(() => handles.keep(call)),
      drop: async (call) => nextTurn().then(() => handles.drop(call)),
    },
  });
  const call = client.startTool("publish_report");
  const closing = client.close();
  isKept.resolve();
  await expect(call).rejects.toMatchObject({ code: "closed" });
  await closing;
  expect((await handles.list()).calls).toEqual([]);
  expect(server.of("tools/call")).toEqual([]);
});

it("lists only calls of its own server and generation", async () => {
  const handles = memoryHandles();
  const { server, client } = await setUp({ handles });
  await handles.keep(storedCall());
  await handles.keep(storedCall({ server: server.url, generation: "2025-11-25" }));
  await handles.keep(storedCall({ server: server.url, taskId: "mine" }));
  expect(await client.pending()).toMatchObject([{ reference: { taskId: "mine" } }]);
});

it("tells of entries that cannot be read, and gives the others", async () => {
  const handles = memoryHandles();
  const damaged = [{ name: "calls/a.json", error: new SyntaxError("cut off") }];
  const { server, client } = await setUp({
    handles: { ...handles, list: async () => ({ ...(await handles.list()), damaged }) },
  });
  const told: unknown[] = [];
  client.sdk.onerror = (error) => void told.push(error);
  await handles.keep(storedCall({ server: server.url }));
  expect(await client.pending()).toHaveLength(1);
  expect(told).toMatchObject([{ code: "handles", message: /calls\/a\.json/, cause: damaged[0]?.error }]);
});

it("does not send a call again of which the server may know nothing any more", async () => {
  const handles = memoryHandles();
  const { server, client, clock } = await setUp({ handles }, discoveredHoldfast);
  const day = 24 * 3_600_000;
  await handles.keep(storedCall({ server: server.url, startedAt: clock.now() - day - 1 }));
  await handles.keep(storedCall({ server: server.url, key: "b", startedAt: clock.now() - day }));
  server.script("tools/call", created());
  const [old, young] = await client.pending();
  await expect(old?.take()).rejects.toMatchObject({ code: "connection" });
  expect(server.of("tools/call")).toEqual([]);
  expect((await young?.take())?.taskId).toBe(taskId);
});

it("does not send a call again for longer than the server says that it knows of it [A-48]", async () => {
  const handles = memoryHandles();
  const { server, client, clock } = await setUp({ handles }, discoveredKeeping(1_500));
  await handles.keep(storedCall({ server: server.url, startedAt: clock.now() - 1_501 }));
  await handles.keep(storedCall({ server: server.url, key: "b", startedAt: clock.now() - 1_000 }));
  server.script("tools/call", ...Array.from({ length: 20 }, () => ({ status: 502 })));
  const forgotten = {
    code: "connection",
    message: expect.stringContaining("recognises repeated calls for only") as unknown,
  };
  const [old, young] = await client.pending();
  await expect(old?.take()).rejects.toMatchObject(forgotten);
  expect(server.of("tools/call")).toEqual([]);
  await expect(young?.take()).rejects.toMatchObject(forgotten);
  expect(server.of("tools/call")).toHaveLength(3); // at once, and after 125 and 250 ms
  expect(await client.pending()).toHaveLength(2);
});

it("serves two clients at once that share a folder", async () => {
  const handles = await folderForHandles();
  const { server, client, clock } = await setUp({ handles });
  const other = await connectTo(server, clock, { handles });
  const tasks = Array.from({ length: 10 }, (_, index) => `task-${index}`);
  server.script("tools/call", ...tasks.map((id) => created({ taskId: id })));
  await Promise.all(tasks.map(async (_, index) => (index % 2 ? client : other).startTool("publish_report")));
  for (const lister of [client, other]) {
    const references = (await lister.pending()).map(({ reference }) => reference?.taskId);
    expect(new Set(references)).toEqual(new Set(tasks));
  }
  server.script("tasks/get", ...Array.from({ length: 20 }, () => completedAsAsked));
  const results = [client, other].map(async (taker) => {
    const taken = await Promise.all((await taker.pending()).map(async (call) => call.take()));
    return Promise.all(taken.map(async (handle) => handle.result()));
  });
  expect(await Promise.all(results)).toEqual([tasks.map(() => sent), tasks.map(() => sent)]);
  expect(await client.pending()).toEqual([]);
  expect(await other.pending()).toEqual([]);
});

describe("a server that recognises no repeated call", () => {
  it("is not sent it again", async () => {
    const { server, client } = await setUp({ handles: memoryHandles() });
    server.script("tools/call", "reset");
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "connection" });
    const [call] = await client.pending();
    expect(call?.reference).toBeNull();
    await expect(call?.take()).rejects.toMatchObject({ code: "connection" });
    expect(server.of("tools/call")).toHaveLength(1);
    await call?.forget();
    expect(await client.pending()).toEqual([]);
  });
});

describe("a store that fails", () => {
  const full = new Error("ENOSPC");

  it("keeps a call from being sent", async () => {
    const handles: HandleStore = { ...memoryHandles(), keep: async () => Promise.reject(full) };
    const { server, client } = await setUp({ handles });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({
      code: "handles",
      cause: full,
      reference: undefined,
    });
    expect(server.of("tools/call")).toEqual([]);
  });

  it("keeps neither a result from its caller nor an answer from its task", async () => {
    const fail = async (): Promise<never> => Promise.reject(full);
    const handles: HandleStore = {
      ...memoryHandles(),
      drop: fail,
      dropTask: fail,
      keepAnswer: fail,
      answer: fail,
    };
    const onInput = async () => ({ action: "decline" as const });
    const { server, client } = await setUp({ handles, onInput });
    const told: unknown[] = [];
    client.sdk.onerror = (error) => void told.push(error);
    server.script("tools/call", { result: sent }, created());
    server.script("tasks/get", asking({ approve: approval }), async () => {
      await server.sees("tasks/update", 1);
      return completed();
    });
    server.script("tasks/update", acknowledged);
    expect(await client.callTool("greet")).toEqual(sent);
    expect(await client.callTool("publish_report")).toEqual(sent);
    await client.close();
    expect(server.of("tasks/update")).toHaveLength(1);
    expect(told).toMatchObject(Array.from({ length: 4 }, () => ({ code: "handles", cause: full })));
  });

  it("does not keep a task's reference from its caller", async () => {
    const inner = memoryHandles();
    const handles: HandleStore = {
      ...inner,
      keep: async (call) => (call.taskId === null ? inner.keep(call) : Promise.reject(full)),
    };
    const { server, client } = await setUp({ handles });
    server.script("tools/call", created());
    await expect(client.callTool("publish_report")).rejects.toMatchObject({
      code: "handles",
      cause: full,
      reference: referenceAt(server.url),
    });
  });
});

describe("an answer", () => {
  it("is kept before it is sent, and sent again unasked after a restart", async () => {
    const handles = memoryHandles();
    const asked: string[] = [];
    const onInput = async ({ key }: { key: string }) => {
      asked.push(key);
      return { action: "accept" as const, content: { ok: true } };
    };
    const { server, client, clock } = await setUp({ handles, onInput });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: approval }), working());
    server.script("tasks/update", "silence");
    const wait = client.callTool("publish_report");
    wait.catch(() => undefined);
    await server.sees("tasks/update", 1);
    await client.close();
    const later = await connectTo(server, clock, { handles, onInput });
    server.script("tasks/update", acknowledged);
    server.script("tasks/get", asking({ approve: approval }), asking({ approve: approval }), completed());
    const [call] = await later.pending();
    expect(await (await call?.take())?.result()).toEqual(sent);
    expect(asked).toEqual(["approve"]);
    expect(server.of("tasks/update").map(({ params }) => params["inputResponses"])).toEqual([
      { approve: { action: "accept", content: { ok: true } } },
      { approve: { action: "accept", content: { ok: true } } },
    ]);
  });
});
