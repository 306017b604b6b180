import { describe, expect, it } from "vitest";
import { TaskClientError } from "../../src/client/task-client-error.ts";
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
} from "./answers.ts";
import { connectTo, setUp } from "./setup.ts";

describe("a task that does not end in a result", () => {
  it("gives its JSON-RPC error exactly", async () => {
    const { server, client } = await setUp();
    const error = { code: -32050, message: "Renderer unreachable", data: { host: null, tries: [1, 2] } };
    server.script("tools/call", created());
    server.script("tasks/get", failed(error));
    const reason: unknown = await client.callTool("publish_report").catch((cause: unknown) => cause);
    expect(reason).toBeInstanceOf(TaskClientError);
    expect(reason).toMatchObject({ code: "failed", message: error.message, taskId });
    expect((reason as TaskClientError).error).toEqual(error);
  });

  it("says that it was cancelled", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", cancelled({ statusMessage: "by its owner" }));
    await expect(client.callTool("publish_report")).rejects.toMatchObject({
      code: "cancelled",
      message: "by its owner",
    });
  });

  it("ends its updates without an error", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", failed({ code: -32603, message: "no" }));
    const states: string[] = [];
    for await (const task of (await client.startTool("publish_report")).updates()) states.push(task.status);
    expect(states).toEqual(["working", "failed"]);
  });
});

describe("cancelling", () => {
  it("sends tasks/cancel until it is acknowledged, and never notifications/cancelled [X-073 X-077]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/cancel", "reset", { status: 503 }, acknowledged);
    const handle = await client.startTool("publish_report");
    await handle.cancel();
    expect(server.of("tasks/cancel").map(({ params }) => params["taskId"])).toEqual([taskId, taskId, taskId]);
    expect(server.seen.some(({ method }) => method.startsWith("notifications/"))).toBe(false);
  });

  it("leaves it to the task how it ends [X-081]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/cancel", acknowledged);
    server.script("tasks/get", working(), completed());
    const handle = await client.startTool("publish_report");
    await handle.cancel();
    expect(await handle.result()).toEqual(sent);
  });

  it("tells of an unknown task", async () => {
    const { server, client } = await setUp();
    server.script("tasks/cancel", unknownTask);
    const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
    await expect(handle.cancel()).rejects.toMatchObject({ code: "unknown_task", error: { code: -32602 } });
  });
});

describe("resuming", () => {
  it("finds the task again from plain data, with another client [X-053]", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", working(), completed());
    const { reference } = await client.startTool("publish_report");
    await client.close();
    const plain = { server: server.url, generation: "2026-07-28", taskId };
    expect(JSON.parse(JSON.stringify(reference))).toEqual(plain);

    const later = await connectTo(server, clock);
    const handle = await later.resume(plain);
    expect(handle.taskId).toBe(taskId);
    expect(await handle.result()).toEqual(sent);
    expect(clock.naps).toEqual([2000]);
  });

  it("waits for a server that is away", async () => {
    const { server, client, clock } = await setUp();
    server.script("tasks/get", completed());
    const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
    await server.stop();
    clock.hold();
    await expect(handle.get()).rejects.toMatchObject({ code: "connection" });
    const result = handle.result();
    const nap = await clock.nap();
    await server.listen();
    nap.wake();
    expect(await result).toEqual(sent);
  });

  it("tells of a task that the server does not know", async () => {
    const { server, client } = await setUp();
    server.script("tasks/get", unknownTask);
    const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
    await expect(handle.result()).rejects.toMatchObject({ code: "unknown_task", taskId });
  });

  it("does not show a task's id to another server", async () => {
    const { server, client } = await setUp();
    for (const wrong of [
      { server: "https://elsewhere.example/mcp", generation: "2026-07-28", taskId },
      { server: server.url, generation: "2025-11-25", taskId },
      { server: server.url, generation: "2026-07-28", taskId: "" },
    ]) {
      await expect(client.resume(wrong)).rejects.toMatchObject({ code: "reference" });
    }
  });
});

describe("closing the client", () => {
  it("ends every wait and takes questions back, and leaves the tasks alone", async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { server, client, clock } = await setUp({
      onInput: async ({ signal }) => {
        asked.resolve(signal);
        return new Promise<never>(() => undefined);
      },
    });
    server.script("tools/call", created(), "silence");
    server.script("tasks/get", asking({ approve: approval }));
    const handle = await client.startTool("publish_report");
    const wait = handle.result();
    const call = client.callTool("publish_report");
    const signal = await asked.promise;
    await server.sees("tools/call", 2);
    clock.hold();
    await Promise.all([
      expect(wait).rejects.toMatchObject({ code: "closed" }),
      expect(call).rejects.toMatchObject({ code: "closed" }),
      client.close(),
    ]);
    expect(signal.aborted).toBe(true);
    expect(clock.armed).toBe(0);
    expect(server.of("tasks/cancel")).toHaveLength(0);
    await expect(handle.result()).rejects.toMatchObject({ code: "closed" });
    await expect(handle.get()).rejects.toMatchObject({ code: "closed" });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "closed" });
    for (const list of [client.listTools(), client.listResources(), client.listPrompts()])
      await expect(list).rejects.toMatchObject({ code: "closed" });
    await client.close();
  });
});

describe("closing the SDK's client", () => {
  it("ends every wait too", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created(), "silence");
    clock.hold();
    const handle = await client.startTool("publish_report");
    const wait = handle.result();
    const call = client.callTool("publish_report");
    await Promise.all([clock.nap(), server.sees("tools/call", 2)]);
    await Promise.all([
      expect(wait).rejects.toMatchObject({ code: "closed" }),
      expect(call).rejects.toMatchObject({ code: "closed" }),
      client.sdk.close(),
    ]);
    expect(clock.armed).toBe(0);
    await expect(handle.result()).rejects.toMatchObject({ code: "closed" });
    await expect(handle.cancel()).rejects.toMatchObject({ code: "closed" });
    await client.close();
  });
});
