import { describe, expect, it } from "vitest";
import { makeIdempotencyKey } from "../../../src/client/call/pending-call.ts";
import {
  askedFor,
  creating,
  noMethod,
  relatedKey,
  sent,
  setUpSep,
  start,
  task,
  taskKey,
  unknownTask,
} from "./sep-peer.ts";

describe("a call", () => {
  it("asks for a task by an id of its own, and for how long its result is kept [S-006 S-007 S-008 S-021]", async () => {
    const { peer, client } = await setUpSep();
    peer.always("tools/call", creating(peer));
    const handle = await client.startTool("publish_report", { month: "2026-10" }, { ttlMs: 120_000 });
    const [params] = peer.params("tools/call");
    expect(params).toMatchObject({ name: "publish_report", arguments: { month: "2026-10" } });
    expect(askedFor(params)).toEqual({ taskId: handle.taskId, keepAlive: 120_000 });
    expect(handle.reference).toEqual({ server: "transport", generation: "sep-1686", taskId: handle.taskId });
    await client.startTool("publish_report");
    expect(askedFor(peer.params("tools/call")[1])).toEqual({ taskId: expect.any(String) as string });
    const ids = new Set(Array.from({ length: 10_000 }, makeIdempotencyKey));
    expect(ids.size).toBe(10_000);
  });

  it("is known by the caller's own key, as ever", async () => {
    const { peer, client } = await setUpSep();
    peer.always("tools/call", creating(peer));
    const idempotencyKey = "a-key-that-nobody-can-guess";
    const handle = await client.startTool("publish_report", {}, { idempotencyKey });
    expect(handle.taskId).toBe(idempotencyKey);
  });

  it("is answered as any other by a server that has no such tasks [S-001 S-004 A-01]", async () => {
    const { peer, client } = await setUpSep();
    peer.always("tools/call", { result: sent });
    const handle = await client.startTool("publish_report");
    expect(handle.reference).toBeNull();
    expect(await handle.result()).toEqual(sent);
    expect(peer.of("tasks/get")).toEqual([]);
  });

  it("asks in the same way on 2025-11-25 where it is told to, and not otherwise", async () => {
    const { peer, client } = await setUpSep({ generation: "sep-1686" }, { tools: {} }, "2025-11-25");
    expect(peer.of("server/discover")).toEqual([]);
    peer.always("tools/call", creating(peer));
    expect((await client.startTool("publish_report")).reference?.generation).toBe("sep-1686");
    expect(peer.of("tools/list")).toEqual([]);
    const core = await setUpSep({}, { tools: {} }, "2025-11-25");
    core.peer.always("tools/call", { result: sent });
    await core.client.callTool("publish_report");
    expect(core.peer.params("tools/call")[0]?.["_meta"]).not.toHaveProperty(taskKey);
  });

  it("connects to a server whose booleans the SDK's client would take for a fault [S-003]", async () => {
    const requests = { tools: { call: true }, prompts: { get: false } };
    const { peer, client } = await setUpSep({}, { tools: {}, tasks: { list: {}, requests } });
    expect(client.sdk.getServerCapabilities()).toMatchObject({ tasks: { list: {}, ...requests } });
    peer.script("tools/call", creating(peer));
    expect((await client.startTool("publish_report")).reference).not.toBeNull();
  });

  it("refuses to ask for it where there can be no such thing", async () => {
    const options = { generation: "sep-1686", protocolVersion: "2026-07-28" } as const;
    await expect(setUpSep(options)).rejects.toThrow(RangeError);
    await expect(setUpSep({ generation: "2025-11-25" as "sep-1686" })).rejects.toThrow(RangeError);
  });
});

describe("the start", () => {
  it("polls after the created notification and not before [S-017 S-034 S-039]", async () => {
    const { peer, client, clock } = await setUpSep();
    clock.hold();
    peer.script("tools/call", "silence");
    const call = client.callTool("publish_report");
    await peer.sees("tools/call");
    await peer.settled(client);
    expect(peer.of("tasks/get")).toEqual([]);
    expect(clock.armed).toBe(0); // nor will it
    peer.always("tasks/get", task("completed"));
    peer.always("tasks/result", { result: sent });
    creating(peer)(peer.params("tools/call")[0] ?? {});
    expect(await call).toEqual(sent);
    const { taskId } = askedFor(peer.params("tools/call")[0]);
    const about = { taskId, _meta: { [relatedKey]: { taskId } } };
    expect(peer.params("tasks/get")).toEqual([about]);
    expect(peer.params("tasks/result")).toEqual([about]);
  });

  it("uses the answer if the created notification is lost [S-016 S-019]", async () => {
    const { peer, client } = await setUpSep();
    peer.script("tools/call", ({ _meta }) => ({ result: { ...sent, _meta } }));
    const handle = await client.startTool("publish_report");
    expect(handle.reference).toBeNull();
    expect(await handle.result()).toMatchObject(sent);
    expect(peer.of("tasks/get")).toEqual([]);
  });

  it("ends with the answer, whatever polls have shown [S-016]", async () => {
    const setup = await setUpSep();
    const { peer, clock } = setup;
    clock.hold();
    const handle = await start(setup);
    peer.script("tasks/get", task("working"));
    const result = handle.result();
    await clock.nap(2000);
    peer.answer(handle.requestId, { result: sent });
    expect(await result).toEqual(sent);
    expect(peer.of("tasks/get")).toHaveLength(1);
    expect(peer.of("tasks/result")).toEqual([]);
    // Who asks later is told the same, and the server is asked no more.
    expect(await handle.get()).toMatchObject({ status: "completed", result: sent });
    expect(peer.of("tasks/get")).toHaveLength(1);
  });

  it("uses an answer that came before anybody waited", async () => {
    const setup = await setUpSep();
    const handle = await start(setup);
    setup.peer.answer(handle.requestId, { result: sent });
    await setup.peer.settled(setup.client);
    expect(await handle.result()).toEqual(sent);
    expect(setup.peer.of("tasks/get")).toEqual([]);
  });

  it("treats a question of the task as proof that it exists", async () => {
    const { peer, client } = await setUpSep({ onInput: async () => ({ action: "decline" }) });
    let answer: Promise<object> | undefined;
    peer.script("tools/call", (params) => {
      const { taskId } = askedFor(params);
      const question = { message: "Send it?", requestedSchema: { type: "object", properties: {} } };
      answer = peer.ask("elicitation/create", { ...question, _meta: { [relatedKey]: { taskId } } }).answer;
      return "silence";
    });
    const handle = await client.startTool("publish_report");
    expect(handle.taskId).toBe(askedFor(peer.params("tools/call")[0]).taskId);
    peer.always("tasks/get", task("input_required"));
    const result = handle.result();
    expect(await answer).toMatchObject({
      result: { action: "decline", _meta: { [relatedKey]: { taskId: handle.taskId } } },
    });
    peer.answer(peer.of("tools/call")[0]?.["id"], { result: sent });
    expect(await result).toEqual(sent);
  });
});

describe("an id that is in use", () => {
  it("is the task of the same key, where the caller gave it one [S-023 A-19]", async () => {
    const { peer, client } = await setUpSep();
    peer.script("tools/call", { error: { code: -32602, message: "Task id is already in use" } });
    peer.always("tasks/get", task("working"));
    const idempotencyKey = "a-key-that-nobody-can-guess";
    const handle = await client.startTool("publish_report", {}, { idempotencyKey });
    expect(handle.taskId).toBe(idempotencyKey);
  });

  it("is an error as any other where there is no such task", async () => {
    const { peer, client } = await setUpSep();
    const wrong = { error: { code: -32602, message: "month has to be a string" } };
    peer.always("tools/call", wrong);
    peer.always("tasks/get", unknownTask);
    const idempotencyKey = "a-key-that-nobody-can-guess";
    const named = client.startTool("publish_report", {}, { idempotencyKey });
    await expect(named).rejects.toMatchObject({ code: "rpc", ...wrong });
    await expect(client.startTool("publish_report")).rejects.toMatchObject({ code: "rpc", ...wrong });
    expect(peer.of("tasks/get")).toHaveLength(1);
  });
});

describe("a call that is given up", () => {
  it("is withdrawn by its own id", async () => {
    const { peer, client } = await setUpSep();
    peer.script("tools/call", "silence");
    peer.always("tasks/get", noMethod);
    const leaving = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: leaving.signal });
    await peer.sees("tools/call");
    leaving.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await peer.sees("notifications/cancelled");
    await peer.settled(client);
    const { taskId } = askedFor(peer.params("tools/call")[0]);
    expect(peer.params("notifications/cancelled")).toEqual([
      {
        requestId: peer.of("tools/call")[0]?.["id"],
        reason: "The caller no longer waits for the answer",
        _meta: { [relatedKey]: { taskId } },
      },
    ]);
  });

  it("runs on where it can be found again, by a server that has tasks", async () => {
    const declared = { tools: {}, tasks: { tools: { call: true } } };
    const { peer, client } = await setUpSep({}, declared);
    peer.script("tools/call", "silence");
    const leaving = new AbortController();
    const options = { signal: leaving.signal, idempotencyKey: "a-key-that-nobody-can-guess" };
    const call = client.callTool("publish_report", {}, options);
    await peer.sees("tools/call");
    leaving.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await peer.settled(client);
    expect(peer.of("notifications/cancelled")).toEqual([]);
  });
});
