import { describe, expect, it } from "vitest";
import type { HandleStore } from "../../../src/client/handles/handle-store.ts";
import { memoryHandles } from "../../../src/client/handles/memory-handles.ts";
import { acknowledged, approval, asking, completed, created, sent, taskId, working } from "../answers.ts";
import { discoveredHoldfast } from "../scripted-server.ts";
import { connectTo, setUp } from "../setup.ts";

const reference = (server: string): object => ({ server, generation: "2026-07-28", taskId });

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
      reference: reference(server.url),
      tool: "publish_report",
      args: { month: "2026-10" },
    });
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
    expect(handle?.reference).toEqual(reference(server.url));
    const [first, second] = server.of("tools/call").map(({ params }) => params);
    expect(second).toMatchObject({ name: first?.["name"], arguments: first?.["arguments"] });
    const key = "holdfast/idempotencyKey";
    expect(second?.["_meta"]).toMatchObject({
      [key]: (first?.["_meta"] as Record<string, string> | undefined)?.[key],
      "holdfast/repeat": true,
    });
  });
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
      reference: reference(server.url),
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
