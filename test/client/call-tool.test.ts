import { describe, expect, it } from "vitest";
import type { InputRequest, InputResult } from "../../src/client/question/ask-user.ts";
import { approval, asking, completed, created, sampling, sent, taskId, working } from "./answers.ts";
import { discoveredHoldfast, discoveredKeeping } from "./scripted-server.ts";
import { setUp } from "./setup.ts";

const accept = async (_request: InputRequest): Promise<InputResult> => ({
  action: "accept",
  content: { ok: true },
});

/** The error of a server that stops. */
const unanswered = (begun: boolean) => ({
  code: -32603,
  message: "The server is stopping.",
  data: { retryAfterMs: 5_000, "holdfast/begun": begun },
});

describe("a call", () => {
  it("gives the same result when answered at once and when answered with a task [X-007 X-107]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: { resultType: "complete", ...sent } }, created());
    server.script("tasks/get", working({ lastUpdatedAt: "2026-10-01T00:00:02Z" }), completed());
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(await client.callTool("publish_report")).toEqual(sent);
  });

  it("accepts an answer as an event stream [B-066]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { events: [{ result: { resultType: "complete", ...sent } }] });
    expect(await client.callTool("publish_report")).toEqual(sent);
  });

  it("takes a result without resultType, in a task too [X-B-006 A-42]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: sent }, created());
    server.script("tasks/get", completed({ resultType: "complete", ...sent }));
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(await client.callTool("publish_report")).toEqual(sent);
  });

  it("returns a result that says isError", async () => {
    const { server, client } = await setUp();
    const wrong = { content: [{ type: "text", text: "no template" }], isError: true };
    server.script("tools/call", created());
    server.script("tasks/get", completed(wrong));
    expect(await client.callTool("publish_report")).toEqual(wrong);
  });

  it("tells of each change of its task", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", working({ statusMessage: "rendering" }), completed());
    const seen: unknown[] = [];
    await client.callTool(
      "publish_report",
      {},
      { onUpdate: (task) => seen.push([task.status, task.statusMessage]) },
    );
    expect(seen).toEqual([
      ["working", undefined],
      ["working", "rendering"],
      ["completed", undefined],
    ]);
  });

  it("starts with whatever status the server gives", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ status: "completed" }));
    server.script("tasks/get", completed());
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([]);
  });

  it.each([
    ["an unknown resultType", { resultType: "teleported", ...sent }],
    ["a task without taskId", { resultType: "task", status: "working" }],
    ["a question without questions and state", { resultType: "input_required" }],
    ["content that is no list", { resultType: "complete", content: "sent" }],
  ])("refuses %s [X-B-006]", async (_what, result) => {
    const { server, client } = await setUp();
    server.script("tools/call", { result });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "protocol" });
    expect(server.of("tools/call")).toHaveLength(1);
  });

  it("passes a JSON-RPC error on exactly", async () => {
    const { server, client } = await setUp();
    const error = { code: -32602, message: "no such month", data: { month: "2026-13" } };
    server.script("tools/call", { error });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "rpc", error });
  });

  it.each([-32021, -32003])("knows a missing capability by the number %i [A-02 X-P-001]", async (code) => {
    const { server, client } = await setUp();
    const error = { code, message: "declare it", data: { requiredCapabilities: { elicitation: {} } } };
    server.script("tools/call", { error, status: 400 });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({
      code: "missing_capability",
      error,
    });
  });

  it("gives a finished handle when the server answered at once", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: sent });
    const handle = await client.startTool("publish_report");
    expect(handle).toMatchObject({ reference: null, taskId: null });
    expect(await handle.result()).toEqual(sent);
    expect(await handle.get()).toMatchObject({ status: "completed", result: sent });
    const states = [];
    for await (const task of handle.updates()) states.push(task.status);
    expect(states).toEqual(["completed"]);
    await handle.cancel();
    expect(server.of("tasks/cancel")).toHaveLength(0);
    await expect(client.resume(handle.reference)).rejects.toMatchObject({ code: "reference" });
  });

  it("is withdrawn when aborted before its answer", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", "silence");
    const controller = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: controller.signal });
    await server.sees("tools/call", 1);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
  });
});

describe("input before the task", () => {
  it("is asked for and sent with the unchanged state under a new id [X-B-009]", async () => {
    const { server, client } = await setUp({ onInput: accept });
    const requestState = "v1.eyJyIjoicTMifQ.Hm4c";
    server.script(
      "tools/call",
      { result: { resultType: "input_required", inputRequests: { confirm: approval }, requestState } },
      { result: { resultType: "input_required", inputRequests: { again: approval } } },
      { result: sent },
    );
    expect(await client.callTool("publish_report", { month: "2026-10" })).toEqual(sent);
    const [first, second, third] = server.of("tools/call");
    const content = { action: "accept", content: { ok: true } };
    expect(first?.params).not.toHaveProperty("inputResponses");
    expect(second?.params).toMatchObject({ inputResponses: { confirm: content }, requestState });
    expect(third?.params).toMatchObject({ inputResponses: { again: content } });
    expect(third?.params).not.toHaveProperty("requestState");
    expect(new Set([first?.id, second?.id, third?.id]).size).toBe(3);
    expect(second?.params["_meta"]).toEqual(first?.params["_meta"]);
    expect(second?.params["arguments"]).toEqual({ month: "2026-10" });
  });

  it("is apart from the task's own, even under the same key [X-P-018]", async () => {
    const asked: unknown[] = [];
    const { server, client } = await setUp({
      onInput: async (request) => {
        asked.push([request.key, request.taskId]);
        return accept(request);
      },
    });
    server.script(
      "tools/call",
      { result: { resultType: "input_required", inputRequests: { confirm: approval } } },
      created(),
    );
    server.script("tasks/get", asking({ confirm: approval }), completed());
    server.script("tasks/update", { result: { resultType: "complete" } });
    await client.callTool("publish_report");
    expect(asked).toEqual([
      ["confirm", null],
      ["confirm", taskId],
    ]);
  });

  it("calls again when the server only gave a state", async () => {
    const { server, client, clock } = await setUp();
    server.script(
      "tools/call",
      { result: { resultType: "input_required", requestState: "later" } },
      { result: sent },
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(server.of("tools/call")[1]?.params).toMatchObject({ requestState: "later" });
    expect(server.of("tools/call")[1]?.params).not.toHaveProperty("inputResponses");
    expect(clock.naps).toEqual([250]);
  });

  it("answers cancel for an elicitation that nobody answers, and fails the call for sampling [A-23]", async () => {
    const { server, client } = await setUp();
    server.script(
      "tools/call",
      { result: { resultType: "input_required", inputRequests: { confirm: approval } } },
      { result: { resultType: "input_required", inputRequests: { sum: sampling } } },
    );
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "unanswered" });
    expect(server.of("tools/call")[1]?.params["inputResponses"]).toEqual({ confirm: { action: "cancel" } });
  });

  it("ends with a server that never stops asking", async () => {
    const { server, client } = await setUp();
    const round = { result: { resultType: "input_required", inputRequests: { confirm: approval } } };
    server.script("tools/call", ...Array.from({ length: 200 }, () => round));
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "protocol" });
    expect(server.of("tools/call")).toHaveLength(100);
  });
});

describe("a call whose answer is lost", () => {
  it("is not repeated to a server that may not recognise it", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", "reset", { result: sent });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "connection" });
    expect(server.of("tools/call")).toHaveLength(1);
  });

  it("is repeated, under the same key, to a server that recognises it [A-48]", async () => {
    const { server, client, clock } = await setUp({}, discoveredHoldfast);
    server.script("tools/call", "reset", { status: 502 }, { events: [] }, created());
    server.script("tasks/get", completed());
    expect(await client.callTool("publish_report")).toEqual(sent);
    const calls = server.of("tools/call");
    expect(calls).toHaveLength(4);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(4);
    const metas = calls.map(({ params }) => params["_meta"] as Record<string, unknown>);
    expect(new Set(metas.map((meta) => meta["holdfast/idempotencyKey"])).size).toBe(1);
    // Only a call that may have arrived is marked, so that a server refuses it where it would run twice.
    expect(metas.map((meta) => meta["holdfast/repeat"])).toEqual([undefined, true, true, true]);
    expect(clock.naps.slice(0, 3)).toEqual([125, 250, 500]);
  });

  it("is not repeated once the server may have forgotten it [A-48]", async () => {
    const { server, client, clock } = await setUp({}, discoveredKeeping(1_000));
    server.script("tools/call", ...Array.from({ length: 20 }, () => ({ status: 502 })));
    const message: unknown = expect.stringContaining("recognises repeated calls for only 1000 ms");
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "connection", message });
    expect(clock.naps).toEqual([125, 250, 500, 1000]);
    expect(server.of("tools/call")).toHaveLength(4);
  });

  it("is repeated for as long as nothing arrived, whatever the server remembers", async () => {
    const { server, client, clock } = await setUp({}, discoveredKeeping(1_000));
    const busy = { status: 429, headers: { "retry-after": "7" } };
    server.script("tools/call", busy, busy, { result: sent });
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([7000, 7000]);
  });

  it("is an error where the repeated tool makes no task, and is not run twice [A-48]", async () => {
    const { server, client } = await setUp({}, discoveredHoldfast);
    const error = { code: -32602, message: "no task", data: { "holdfast/notRepeatable": true } };
    server.script("tools/call", "reset", { error });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "connection" });
  });

  it("is repeated to any server while nothing listens, or it is told 429", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", { status: 429, headers: { "retry-after": "7" } }, { result: sent });
    clock.hold();
    await server.stop();
    const call = client.callTool("publish_report");
    for (const ms of [125, 250, 500]) {
      const nap = await clock.nap();
      expect(nap.ms).toBe(ms);
      if (ms === 500) await server.listen();
      nap.wake();
    }
    const told = await clock.nap();
    expect(told.ms).toBe(7000);
    told.wake();
    expect(await call).toEqual(sent);
    expect(server.of("tools/call")).toHaveLength(2);
  });

  it.each([
    ["in its answer", { error: unanswered(false) }],
    ["with HTTP 503", { error: unanswered(false), status: 503 }],
  ])("is repeated as new to any server that has begun nothing, which says so %s", async (_, said) => {
    const { server, client, clock } = await setUp({}, discoveredKeeping(0));
    server.script("tools/call", said, said, { result: sent });
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([5_000, 5_000]);
    const metas = server.of("tools/call").map(({ params }) => params["_meta"] as Record<string, unknown>);
    expect(metas.map((meta) => meta["holdfast/repeat"])).toEqual([undefined, undefined, undefined]);
  });

  it("is repeated where a server has begun it and does not end it, if the server recognises it", async () => {
    for (const said of [{ error: unanswered(true) }, { status: 499 }]) {
      const recognising = await setUp({}, discoveredHoldfast);
      recognising.server.script("tools/call", said, { result: sent });
      expect(await recognising.client.callTool("publish_report")).toEqual(sent);
      const { params } = recognising.server.of("tools/call")[1] ?? {};
      expect(params).toMatchObject({ _meta: { "holdfast/repeat": true } });
      const other = await setUp();
      other.server.script("tools/call", said, { result: sent });
      await expect(other.client.callTool("publish_report")).rejects.toThrow();
      expect(other.server.of("tools/call")).toHaveLength(1);
    }
  });

  it("is not repeated after HTTP 500 to such a server, and tells the error inside", async () => {
    const { server, client } = await setUp();
    const error = { code: -32603, message: "disk full" };
    server.script("tools/call", { error, status: 500 });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "rpc", error });
  });
});
