import { describe, expect, it } from "vitest";
import { acknowledged, approval, asking, created, sent, taskId } from "./answers.ts";
import { withdrawMs } from "../../src/client/task-protocol.ts";
import { setUp } from "./setup.ts";

const impatience = new Error("no patience");

describe("an aborted signal", () => {
  it.each(["callTool", "startTool"] as const)("withdraws a %s that is not answered", async (method) => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", "silence");
    const controller = new AbortController();
    const call = client[method]("publish_report", {}, { signal: controller.signal });
    await server.sees("tools/call", 1);
    controller.abort(impatience);
    await expect(call).rejects.toBe(impatience);
    await expect(client[method]("publish_report", {}, { signal: controller.signal })).rejects.toBe(
      impatience,
    );
    expect(server.of("tools/call")).toHaveLength(1);
    clock.passDeadlines(withdrawMs);
    expect(clock.armed).toBe(0);
  });

  it.each(["signal", "timeoutMs"] as const)(
    "cancels the task in an answer that comes after it, by %s",
    async (by) => {
      const { server, client, clock } = await setUp();
      const answering = Promise.withResolvers<void>();
      server.script("tools/call", async () => {
        await answering.promise;
        return created();
      });
      server.script("tasks/cancel", acknowledged);
      const controller = new AbortController();
      const call = client.callTool("publish_report", {}, { signal: controller.signal, timeoutMs: 5000 });
      await server.sees("tools/call", 1);
      if (by === "signal") controller.abort(impatience);
      else clock.passDeadlines(5000);
      await expect(call).rejects.toMatchObject(by === "signal" ? impatience : { code: "timeout" });
      answering.resolve();
      await server.sees("tasks/cancel", 1);
      await client.close();
      expect(clock.armed).toBe(0);
    },
  );

  it("cancels the task in an answer that comes after it, while the client closes", async () => {
    const { server, client, clock } = await setUp();
    const answering = Promise.withResolvers<void>();
    server.script("tools/call", async () => {
      await answering.promise;
      return created();
    });
    server.script("tasks/cancel", acknowledged);
    const controller = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: controller.signal });
    await server.sees("tools/call", 1);
    controller.abort(impatience);
    await expect(call).rejects.toBe(impatience);
    const closing = client.close();
    answering.resolve();
    await closing;
    expect(server.of("tasks/cancel").map(({ params }) => params["taskId"])).toEqual([taskId]);
    expect(clock.armed).toBe(0);
  });

  it("closes the stream of a call that nothing answers", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", "silence");
    const controller = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: controller.signal });
    await server.sees("tools/call", 1);
    controller.abort(impatience);
    await expect(call).rejects.toBe(impatience);
    clock.passDeadlines(withdrawMs);
    await server.of("tools/call")[0]?.closed;
  });

  it("ends the pause before a call is sent again", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", { status: 429 });
    clock.hold();
    const controller = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: controller.signal });
    await clock.nap();
    controller.abort(impatience);
    await expect(call).rejects.toBe(impatience);
    expect(clock.armed).toBe(0);
  });

  it("ends get, updates, result, cancel and resume, each without a word to the task", async () => {
    const { server, client, clock } = await setUp();
    const reference = { server: server.url, generation: "2026-07-28", taskId };
    const handle = await client.resume(reference);
    server.script("tasks/get", "silence", "silence", "silence");
    server.script("tasks/cancel", "silence");
    const controller = new AbortController();
    const { signal } = controller;
    const firstUpdate = handle.updates({ signal })[Symbol.asyncIterator]().next();
    const waits = [handle.get({ signal }), firstUpdate, handle.result({ signal }), handle.cancel({ signal })];
    await Promise.all([server.sees("tasks/get", 2), server.sees("tasks/cancel", 1)]);
    controller.abort(impatience);
    await Promise.all(waits.map((wait) => expect(wait).rejects.toBe(impatience)));
    await expect(client.resume(reference, { signal })).rejects.toBe(impatience);
    const late = [handle.get({ signal }), handle.result({ signal }), handle.cancel({ signal })];
    await Promise.all(late.map((wait) => expect(wait).rejects.toBe(impatience)));
    expect(clock.armed).toBe(0);
    expect(server.of("tasks/cancel")).toHaveLength(1);
  });

  it("leaves the task alone, and its question with whoever was asked", async () => {
    const asked: string[] = [];
    const answer = Promise.withResolvers<{ action: "decline" }>();
    const { server, client, clock } = await setUp({
      onInput: async ({ key }) => {
        asked.push(key);
        return answer.promise;
      },
    });
    server.script("tools/call", created());
    const open = asking({ approve: approval });
    server.script("tasks/get", open);
    server.script("tasks/update", acknowledged);
    clock.hold();
    const handle = await client.startTool("publish_report");
    const controller = new AbortController();
    const wait = handle.result({ signal: controller.signal });
    (await clock.nap()).wake();
    await clock.nap();
    controller.abort(impatience);
    await expect(wait).rejects.toBe(impatience);
    answer.resolve({ action: "decline" });
    await server.sees("tasks/update", 1);
    expect(asked).toEqual(["approve"]);
    expect(server.of("tasks/cancel")).toHaveLength(0);
  });
});

describe("a call that cancels on abort", () => {
  it("cancels its task, and rejects once that is acknowledged", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/cancel", "reset", acknowledged);
    clock.hold();
    const controller = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: controller.signal, cancelOnAbort: true });
    await clock.nap(2000);
    controller.abort(impatience);
    (await clock.nap(125)).wake();
    await expect(call).rejects.toBe(impatience);
    expect(server.of("tasks/cancel").map(({ params }) => params["taskId"])).toEqual([taskId, taskId]);
    expect(clock.armed).toBe(0);
  });

  it("does not wait long for a server that is away", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/cancel", "silence");
    clock.hold();
    const controller = new AbortController();
    const call = client.callTool("publish_report", {}, { signal: controller.signal, cancelOnAbort: true });
    await clock.nap(2000);
    controller.abort(impatience);
    await server.sees("tasks/cancel", 1);
    clock.passDeadlines();
    const aborted = { name: "AbortError", reference: { taskId }, cause: impatience };
    await expect(call).rejects.toMatchObject(aborted);
    expect(clock.armed).toBe(0);
  });

  it("cancels nothing when it ends by itself", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: sent }, created());
    server.script("tasks/get", { status: 401 });
    const { signal } = new AbortController();
    expect(await client.callTool("publish_report", {}, { signal, cancelOnAbort: true })).toEqual(sent);
    const failing = client.callTool("publish_report", {}, { signal, cancelOnAbort: true });
    await expect(failing).rejects.toMatchObject({ code: "unauthorized" });
    expect(server.of("tasks/cancel")).toHaveLength(0);
  });
});
