import { describe, expect, it } from "vitest";
import {
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
import type { Trouble } from "../../src/client/reply/retry.ts";
import type { Answer } from "./scripted-server.ts";
import { setUp } from "./setup.ts";

describe("polling", () => {
  it("uses the interval of each answer, and ends with the task [X-050 X-052]", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ pollIntervalMs: 3000 }));
    server.script(
      "tasks/get",
      working({ pollIntervalMs: 5000 }),
      working({ pollIntervalMs: 400 }),
      completed(),
    );
    await client.callTool("publish_report");
    expect(clock.naps).toEqual([3000, 5000, 400]);
    expect(server.of("tasks/get")).toHaveLength(3);
  });

  it("has its own floor, and a second where the server names nothing", async () => {
    const { server, client, clock } = await setUp({ pollFloorMs: 700 });
    server.script("tools/call", created({ pollIntervalMs: undefined }));
    server.script("tasks/get", working({ pollIntervalMs: 0 }), completed());
    await client.callTool("publish_report");
    expect(clock.naps).toEqual([1000, 700]);
  });

  it("is one for all who wait for a task, and keeps the interval when they change", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", working({ statusMessage: "half" }), completed());
    clock.hold();
    const handle = await client.startTool("publish_report");
    const same = await client.resume(handle.reference);
    const both = Promise.all([handle.result(), same.result()]);
    for (let polls = 0; polls < 2; polls++) (await clock.nap()).wake();
    expect(await both).toEqual([sent, sent]);
    expect(server.of("tasks/get")).toHaveLength(2);
    expect(await handle.result()).toEqual(sent);
    expect(server.of("tasks/get")).toHaveLength(2);
  });

  it("takes resultType task for complete, and ignores what it does not know [A-03 X-P-004]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created({ novelty: 1 }));
    server.script(
      "tasks/get",
      working({ resultType: "task", novelty: { deep: true }, pollIntervalMs: "soon" }),
      completed(sent, { resultType: "task" }),
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
  });

  it("reads each of the five forms of a task, told apart by the status [X-031]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    const handle = await client.startTool("publish_report");
    const inputRequests = { approve: approval };
    const error = { code: -32050, message: "no printer" };
    for (const [answer, read] of [
      [working(), { status: "working" }],
      [asking(inputRequests), { status: "input_required", inputRequests }],
      [completed(), { status: "completed", result: sent }],
      [failed(error), { status: "failed", error }],
      [cancelled(), { status: "cancelled" }],
    ] as const) {
      server.script("tasks/get", answer);
      expect(await (await client.resume(handle.reference)).get()).toMatchObject(read);
    }
  });

  it.each<[string, Answer]>([
    ["another task's state", working({ taskId: "other" })],
    ["an unknown status", working({ status: "paused" })],
    ["an unknown resultType", working({ resultType: "odd" })],
    ["a completed task without result", working({ status: "completed" })],
    ["a failed task without error", working({ status: "failed" })],
  ])("stops at %s, unless that is a single one [X-031 X-B-006]", async (_what, answer) => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", answer, answer, working(), answer, answer, answer, completed());
    const handle = await client.startTool("publish_report");
    await expect(handle.result()).rejects.toMatchObject({ code: "protocol", taskId });
    expect(server.seen.filter(({ method }) => method === "tasks/get")).toHaveLength(6);
    expect(await handle.result()).toEqual(sent);
  });
});

describe("a wait", () => {
  it("survives a server that goes away and comes back", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", working(), completed());
    clock.hold();
    const call = client.callTool("publish_report");
    (await clock.nap()).wake();
    const beforeStop = await clock.nap();
    await server.stop();
    beforeStop.wake();
    // What the server asked for is also the least between two tries.
    for (const ms of [2000, 2000, 2000, 2000, 2000, 4000, 7500]) {
      const nap = await clock.nap();
      expect(nap.ms).toBe(ms);
      if (ms === 7500) await server.listen();
      nap.wake();
    }
    expect(await call).toEqual(sent);
  });

  it("survives what may pass, and counts its failures anew after each answer", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ pollIntervalMs: 100 }));
    server.script(
      "tasks/get",
      "reset",
      { status: 503 },
      { events: [] },
      { status: 500, headers: { "content-type": "application/json" }, body: "{" },
      working({ pollIntervalMs: 100 }),
      { error: { code: -32603, message: "store busy" }, status: 200 },
      { status: 502, body: "bad gateway" },
      completed(),
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([250, 250, 250, 500, 1000, 250, 250, 250]);
  });

  it("waits as long as Retry-After says", async () => {
    const { server, client, clock } = await setUp();
    const date = new Date(clock.now() + 60_000).toUTCString();
    server.script("tools/call", created());
    server.script(
      "tasks/get",
      { status: 429, headers: { "retry-after": "9" } },
      { status: 503, headers: { "retry-after": date } },
      { status: 503, headers: { "retry-after": "whenever" } },
      completed(),
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([2000, 9000, 60_000 - 2000 - 9000, 2000]);
  });

  it("asks again when a poll is not answered in time", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", "silence", completed());
    const call = client.callTool("publish_report");
    await server.sees("tasks/get", 1);
    clock.passDeadlines();
    expect(await call).toEqual(sent);
    expect(clock.armed).toBe(0);
  });

  const json = { "content-type": "application/json" };

  it.each<[string, Answer]>([
    ["an internal error", { error: { code: -32603, message: "store gone" } }],
    ["an error of a busy server", { error: { code: -32000, message: "try later" } }],
    ["an error of a server that has no tasks", { error: { code: -32601, message: "No tasks" }, status: 404 }],
    ["HTTP 400", { status: 400, body: "bad request" }],
    ["a page of a firewall", { status: 403, headers: { "content-type": "text/html" }, body: "<p>no</p>" }],
    ["HTTP 404", { status: 404 }],
    ["HTTP 413", { status: 413 }],
    ["a redirect", { status: 302, headers: { location: "https://login.example/" } }],
    ["no answer at all", { status: 202 }],
    ["an empty body", { status: 200, headers: json, body: "" }],
    ["a page", { status: 200, headers: { "content-type": "text/html" }, body: "<p>hello</p>" }],
    ["broken JSON", { status: 200, headers: json, body: "{" }],
    ["JSON that is no message", { status: 200, headers: json, body: '{"status":"up"}' }],
    ["an error without a message", { status: 200, headers: json, body: '{"id":null,"error":{"code":1}}' }],
  ])("goes on after %s, however often, and says so", async (_what, answer) => {
    const { server, client } = await setUp();
    const troubles: (Trouble | null)[] = [];
    server.script("tools/call", created({ ttlMs: null }));
    server.script("tasks/get", ...Array.from({ length: 11 }, () => answer), completed());
    const onTrouble = (trouble: Trouble | null): void => void troubles.push(trouble);
    expect(await client.callTool("publish_report", {}, { onTrouble })).toEqual(sent);
    expect(troubles.map((trouble) => trouble?.failures)).toEqual(
      [...Array(11).keys(), undefined].map((n) => (n === undefined ? n : n + 1)),
    );
    for (const trouble of troubles) expect(trouble?.message ?? "").not.toMatch(/\n|invalid_union/);
  });

  it("ends with `connection` once the server has given no valid answer for unreachableTimeoutMs", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created({ ttlMs: null }));
    server.script("tasks/get", ...Array.from({ length: 20 }, () => ({ status: 502 })), completed());
    const handle = await client.startTool("publish_report");
    const wait = handle.result({ unreachableTimeoutMs: 10_000 });
    await expect(wait).rejects.toMatchObject({
      code: "connection",
      taskId,
      message: expect.stringContaining("HTTP 502"),
    });
    expect(await handle.result()).toEqual(sent);
  });

  it.each<[string, Answer]>([
    ["HTTP 401", { status: 401 }],
    ["HTTP 403 of the server itself", { status: 403, error: { code: -32001, message: "Not yours" } }],
  ])("stops at %s", async (_what, answer) => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", answer);
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "unauthorized", taskId });
  });

  it("stops at an error of a server that never showed the task", async () => {
    const { server, client } = await setUp();
    const error = { code: -32601, message: "Method not found: tasks/get" };
    server.script("tasks/get", { error, status: 404 });
    const reference = { server: server.url, generation: "2026-07-28" as const, taskId };
    const handle = await client.resume(reference);
    await expect(handle.result()).rejects.toMatchObject({ code: "rpc", error });
  });

  it("can be aborted without affecting the task, and started again", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", working({ statusMessage: "half" }), completed());
    clock.hold();
    const handle = await client.startTool("publish_report");
    const controller = new AbortController();
    const wait = handle.result({ signal: controller.signal });
    (await clock.nap()).wake();
    await clock.nap();
    controller.abort(new Error("no patience"));
    await expect(wait).rejects.toThrow("no patience");
    expect(clock.armed).toBe(0);
    expect(server.seen.map(({ method }) => method)).toEqual(["server/discover", "tools/call", "tasks/get"]);
    clock.release();
    expect(await handle.result()).toEqual(sent);
    await expect(handle.result({ signal: controller.signal })).rejects.toThrow("no patience");
  });

  it("of one does not end with that of another", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    clock.hold();
    const handle = await client.startTool("publish_report");
    const controller = new AbortController();
    const one = handle.result({ signal: controller.signal });
    const other = handle.result();
    const nap = await clock.nap();
    controller.abort(new Error("no patience"));
    await expect(one).rejects.toThrow("no patience");
    nap.wake();
    expect(await other).toEqual(sent);
  });
});

describe("updates", () => {
  it("give each change once and end after a terminal state [X-019]", async () => {
    const { server, client } = await setUp();
    const half = working({ statusMessage: "half", lastUpdatedAt: "2026-10-01T00:01:00Z" });
    server.script("tools/call", created());
    server.script("tasks/get", working(), half, half, completed());
    const handle = await client.startTool("publish_report");
    const seen: unknown[] = [];
    for await (const task of handle.updates()) seen.push([task.status, task.statusMessage]);
    expect(seen).toEqual([
      ["working", undefined],
      ["working", "half"],
      ["completed", undefined],
    ]);
  });

  it("stop the polling when the reader leaves", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    clock.hold();
    const handle = await client.startTool("publish_report");
    for await (const task of handle.updates()) {
      expect(task.status).toBe("working");
      await clock.nap();
      break;
    }
    await client.close();
    expect(clock.armed).toBe(0);
    expect(server.of("tasks/get")).toHaveLength(0);
  });
});

describe("the end of a task's life", () => {
  it("is its ttl without contact [X-054]", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ ttlMs: 60_000 }));
    server.script("tasks/get", working({ ttlMs: 60_000, lastUpdatedAt: "2026-10-01T00:00:02Z" }));
    clock.hold();
    const call = client.callTool("publish_report");
    (await clock.nap()).wake();
    (await clock.nap()).wake();
    await server.sees("tasks/get", 1);
    await server.stop();
    const start = clock.now() - 2000;
    clock.release();
    await expect(call).rejects.toMatchObject({ code: "expired", taskId });
    expect(clock.now() - start).toBe(58_000);
  });

  it("never comes while the server still tells of it, nor without a ttl", async () => {
    const { server, client } = await setUp();
    const late = { ttlMs: 1000, pollIntervalMs: 10_000 };
    server.script("tools/call", created(late));
    server.script(
      "tasks/get",
      working(late),
      working({ ...late, ttlMs: null }),
      "reset",
      "reset",
      completed(),
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
  });

  it("shows in an unknown id, for a task that was known", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", unknownTask, unknownTask);
    const handle = await client.startTool("publish_report");
    await expect(handle.result()).rejects.toMatchObject({ code: "expired", taskId });
    await expect(handle.result()).rejects.toMatchObject({ code: "expired" });
    expect(server.of("tasks/get")).toHaveLength(1);
    await expect(handle.get()).rejects.toMatchObject({ code: "expired" });
  });
});
