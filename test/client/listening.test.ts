import { describe, expect, it } from "vitest";
import type { ConnectOptions } from "../../src/client/connect-options.ts";
import {
  acknowledged,
  approval,
  asking,
  cancelled,
  completed,
  created,
  sent,
  taskId,
  unknownTask,
  working,
} from "./answers.ts";
import type { Answer, SeenRequest } from "./scripted-server.ts";
import { ScriptedStream } from "./scripted-stream.ts";
import { setUp, type Setup } from "./setup.ts";

const listenMethod = "subscriptions/listen";

interface Streams extends Setup {
  readonly streams: readonly [ScriptedStream, ScriptedStream, ScriptedStream];
}

/** A server whose first three listen requests are answered by streams, and a clock that waits for the test. */
async function setUpStreams(options: ConnectOptions = {}): Promise<Streams> {
  const setup = await setUp({ listen: true, ...options });
  const streams = [new ScriptedStream(), new ScriptedStream(), new ScriptedStream()] as const;
  setup.server.script(listenMethod, ...streams);
  setup.clock.hold();
  return { ...setup, streams };
}

async function wake({ clock }: Setup, ms: number): Promise<void> {
  (await clock.nap(ms)).wake();
}

function idsOf({ server }: Setup): unknown[] {
  return server.of(listenMethod).map(({ params }) => params["notifications"]);
}

// The first safety poll, counted from the opening of the stream, which took the time that calls have to come together.
const safety = 15_000 - 10;
const other = "Ab3v8Q0u1mW7rT5xY2bN9z";

describe("listening", () => {
  it("tells of a task without polls, and ends with it [X-085 X-088 A-26]", async () => {
    const setup = await setUpStreams();
    const { server, client, streams, clock } = setup;
    server.script("tools/call", created());
    const handle = await client.startTool("publish_report");
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const { status, statusMessage } of handle.updates()) seen.push([status, statusMessage]);
    })();
    const result = handle.result();
    await wake(setup, 10);
    await streams[0].acknowledge([taskId]);
    await clock.nap(safety);
    expect(idsOf(setup)).toEqual([{ taskIds: [taskId] }]);
    expect(server.of(listenMethod)[0]?.headers["mcp-method"]).toBe(listenMethod);
    streams[0].push(working());
    streams[0].push(working({ taskId: "somebody else's" }));
    streams[0].push(working({ status: "odd" }));
    streams[0].push(completed());
    expect(await result).toEqual(sent);
    await watching;
    expect(seen).toEqual([
      ["working", undefined],
      ["completed", undefined],
    ]);
    await streams[0].left;
    expect(server.of("tasks/get")).toHaveLength(0);
    expect(clock.armed).toBe(0);
  });

  it("is one stream for all who wait, opened anew for those who come and go", async () => {
    const setup = await setUpStreams();
    const { server, client, streams, clock } = setup;
    server.script("tools/call", created(), created({ taskId: other }));
    const [one, two] = [await client.startTool("publish_report"), await client.startTool("publish_report")];
    const first = one.result();
    await wake(setup, 10);
    await streams[0].acknowledge([taskId]);
    const controller = new AbortController();
    const second = two.result({ signal: controller.signal });
    await wake(setup, 10);
    await streams[0].left;
    await streams[1].acknowledge([taskId, other]);
    await clock.nap(safety - 10);
    controller.abort(new Error("no patience"));
    await expect(second).rejects.toThrow("no patience");
    await wake(setup, 10);
    await streams[1].left;
    await streams[2].acknowledge([taskId]);
    expect(idsOf(setup)).toEqual([
      { taskIds: [taskId] },
      { taskIds: [taskId, other] },
      { taskIds: [taskId] },
    ]);
    streams[2].push(completed());
    expect(await first).toEqual(sent);
    await streams[2].left;
    expect(clock.armed).toBe(0);
    expect(server.of("tasks/get")).toHaveLength(0);
    expect(server.of("tasks/cancel")).toHaveLength(0);
  });

  it("puts those who come together on one stream, and opens none for those who end", async () => {
    const setup = await setUpStreams();
    const { server, client, streams } = setup;
    server.script("tools/call", created(), created({ taskId: other }));
    const both = Promise.all([client.callTool("publish_report"), client.callTool("publish_report")]);
    await server.sees("tools/call", 2);
    await setup.clock.nap(2000).then(() => setup.clock.nap(2000));
    await wake(setup, 10);
    await streams[0].acknowledge([taskId, other]);
    streams[0].push(completed());
    streams[0].push(completed(sent, { taskId: other }));
    await both;
    expect(server.of(listenMethod)).toHaveLength(1);
  });

  it("asks a question that is pushed and polled once [X-068 X-069]", async () => {
    const asked: string[] = [];
    const answered = Promise.withResolvers<void>();
    const setup = await setUpStreams({
      onInput: async ({ key }) => {
        asked.push(key);
        await answered.promise;
        return { action: "accept", content: { ok: true } };
      },
    });
    const { server, client, streams } = setup;
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: approval }));
    server.script("tasks/update", acknowledged);
    const call = client.callTool("publish_report");
    await wake(setup, 10);
    await streams[0].acknowledge([taskId]);
    await wake(setup, safety);
    await server.sees("tasks/get", 1);
    streams[0].push(asking({ approve: approval }));
    answered.resolve();
    await server.sees("tasks/update", 1);
    streams[0].push(completed());
    expect(await call).toEqual(sent);
    expect(asked).toEqual(["approve"]);
    expect(server.of("tasks/update")).toHaveLength(1);
  });

  it("is not undone by a poll that was sent before", async () => {
    const setup = await setUpStreams();
    const { server, client, streams } = setup;
    const polled = Promise.withResolvers<Answer>();
    server.script("tools/call", created());
    server.script("tasks/get", () => polled.promise);
    const handle = await client.startTool("publish_report");
    const seen: unknown[] = [];
    const news = Promise.withResolvers<void>();
    const watching = (async () => {
      for await (const { statusMessage } of handle.updates()) {
        seen.push(statusMessage);
        if (statusMessage === "pushed") news.resolve();
      }
    })();
    await wake(setup, 10);
    await streams[0].acknowledge([taskId]);
    await wake(setup, safety);
    await server.sees("tasks/get", 1);
    streams[0].push(working({ statusMessage: "pushed", lastUpdatedAt: "2026-10-01T00:00:09Z" }));
    await news.promise;
    polled.resolve(working({ statusMessage: "polled", lastUpdatedAt: "2026-10-01T00:00:08Z" }));
    await setup.clock.nap(15_000);
    streams[0].push(cancelled({ statusMessage: "end" }));
    await watching;
    expect(seen).toEqual([undefined, "pushed", "end"]);
  });

  it("polls at once where a push may be older or newer than what was polled", async () => {
    const setup = await setUpStreams();
    const { server, client, streams } = setup;
    server.script("tools/call", created());
    server.script("tasks/get", working({ statusMessage: "polled" }), completed());
    const call = client.callTool("publish_report");
    await wake(setup, 10);
    await streams[0].acknowledge([taskId]);
    await wake(setup, safety);
    await setup.clock.nap(15_000);
    streams[0].push(working({ statusMessage: "pushed in the same moment" }));
    expect(await call).toEqual(sent);
    expect(server.of("tasks/get")).toHaveLength(2);
  });
});

describe("a stream that ends", () => {
  it.each<[string, (stream: ScriptedStream) => void]>([
    ["in order", (stream) => stream.complete()],
    ["by notifications/cancelled", (stream) => stream.cancel()],
    ["because it broke", (stream) => stream.break()],
  ])(
    "%s: polls keep the usual pace at once, and it is opened again [X-B-024 A-26 A-33]",
    async (_how, end) => {
      const setup = await setUpStreams();
      const { server, client, streams, clock } = setup;
      server.script("tools/call", created());
      server.script("tasks/get", working());
      const call = client.callTool("publish_report");
      await wake(setup, 10);
      await streams[0].acknowledge([taskId]);
      await clock.nap(safety);
      end(streams[0]);
      const retry = await clock.nap(125);
      await wake(setup, 1990);
      await server.sees("tasks/get", 1);
      await clock.nap(2000);
      await streams[0].left;
      retry.wake();
      await streams[1].acknowledge([taskId]);
      await clock.nap(15_000);
      streams[1].push(completed());
      expect(await call).toEqual(sent);
      expect(clock.armed).toBe(0);
    },
  );

  it("and ends again soon is opened ever more slowly, until it stood", async () => {
    const setup = await setUpStreams();
    const { server, client, clock } = setup;
    server.script("tools/call", created({ pollIntervalMs: 60_000 }));
    const stream = new ScriptedStream();
    server.script(listenMethod, "reset", { status: 503, headers: { "retry-after": "9" } }, "silence", stream);
    const call = client.callTool("publish_report");
    await wake(setup, 10);
    await wake(setup, 125);
    await wake(setup, 9000);
    await server.sees(listenMethod, 3);
    clock.passDeadlines();
    await wake(setup, 500);
    await stream.acknowledge([taskId]);
    await wake(setup, 60_000 - 9635);
    const last = new ScriptedStream();
    server.script("tasks/get", working({ pollIntervalMs: 60_000 }));
    server.script(listenMethod, last);
    stream.break();
    await wake(setup, 125);
    await last.acknowledge([taskId]);
    last.push(completed());
    expect(await call).toEqual(sent);
  });
});

it("comes back to a server on which it listens too often, when that says so", async () => {
  const setup = await setUpStreams();
  const { server, client, streams } = setup;
  server.script("tools/call", created({ pollIntervalMs: 60_000 }));
  const error = { code: -32000, message: "100 streams already", data: { retryAfterMs: 5000 } };
  server.script(listenMethod, { error }, streams[0]);
  const call = client.callTool("publish_report");
  await wake(setup, 10);
  await wake(setup, 5000);
  await streams[0].acknowledge([taskId]);
  streams[0].push(completed());
  expect(await call).toEqual(sent);
});

describe("a server that pushes nothing", () => {
  it.each<[string, Answer]>([
    ["refuses", { error: { code: -32601, message: "Method not found" }, status: 404 }],
    ["is an older one", { status: 405 }],
    ["wants more of the client", { error: { code: -32021, message: "no" }, status: 400 }],
    ["answers no stream", { status: 202 }],
    ["answers with a task", { result: { resultType: "task", taskId, status: "working" } }],
  ])("and %s is asked once, and polled alone", async (_how, answer) => {
    const { server, client, clock } = await setUp({ listen: true });
    server.script("tools/call", created(), created({ taskId: other }));
    server.script(listenMethod, answer);
    clock.hold();
    const call = client.callTool("publish_report");
    await wake({ server, client, clock }, 10);
    await server.sees(listenMethod, 1);
    server.script("tasks/get", completed(), completed(sent, { taskId: other }));
    await wake({ server, client, clock }, 2000);
    expect(await call).toEqual(sent);
    clock.release();
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(server.of(listenMethod)).toHaveLength(1);
  });

  it("and acknowledges no tasks is left, and polled alone", async () => {
    const setup = await setUpStreams();
    const { server, client, streams } = setup;
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    const call = client.callTool("publish_report");
    await wake(setup, 10);
    await streams[0].acknowledge();
    await streams[0].left;
    await wake(setup, 2000);
    expect(await call).toEqual(sent);
    expect(server.of(listenMethod)).toHaveLength(1);
  });

  it("of this task is polled for it", async () => {
    const setup = await setUpStreams();
    const { server, client, streams } = setup;
    server.script("tools/call", created());
    server.script("tasks/get", unknownTask);
    const call = client.callTool("publish_report");
    await wake(setup, 10);
    await streams[0].acknowledge([]);
    await wake(setup, 2000);
    await expect(call).rejects.toMatchObject({ code: "expired" });
    await streams[0].left;
  });
});

describe("closing", () => {
  it("ends the stream with the waits", async () => {
    const setup = await setUpStreams();
    const { server, client, streams, clock } = setup;
    server.script("tools/call", created());
    const call = client.callTool("publish_report");
    await wake(setup, 10);
    await streams[0].acknowledge([taskId]);
    await clock.nap(safety);
    await Promise.all([expect(call).rejects.toMatchObject({ code: "closed" }), client.close()]);
    await streams[0].left;
    expect(clock.armed).toBe(0);
    expect(server.of(listenMethod)).toHaveLength(1);
  });

  it("of a client that was told not to listen ends no stream", async () => {
    const { server, client, clock } = await setUp({ listen: false });
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    await client.callTool("publish_report");
    expect(clock.naps).toEqual([2000]);
    expect(server.of(listenMethod)).toHaveLength(0);
  });
});

it("takes no more tasks on a stream than others may bear, and opens more streams", async () => {
  const setup = await setUpStreams();
  const { server, client, streams, clock } = setup;
  const taskIds = Array.from({ length: 501 }, (_, place) => `task-${place}`);
  const told = ({ params }: SeenRequest): Answer =>
    working({ taskId: params["taskId"], pollIntervalMs: 60_000 });
  server.script("tasks/get", ...taskIds.map(() => told), told, told);
  const waits = taskIds.map(async (id) => {
    const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId: id });
    return handle.result();
  });
  const ends = Promise.allSettled(waits);
  await server.sees("tasks/get", 501);
  await Promise.all([wake(setup, 10), wake(setup, 10)]);
  const [first, last] = [taskIds.slice(0, 500), taskIds.slice(500)];
  await Promise.all([streams[0].acknowledge(first), streams[1].acknowledge(last)]);
  expect(idsOf(setup)).toEqual([{ taskIds: first }, { taskIds: last }]);
  streams[0].push(completed(sent, { taskId: "task-0" }));
  streams[1].push(completed(sent, { taskId: "task-500" }));
  expect([await waits[0], await waits[500]]).toEqual([sent, sent]);
  await streams[1].left;
  // There is room on the first again: whoever comes now needs no stream of their own.
  const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId: "task-501" });
  const result = handle.result();
  await wake(setup, 2495);
  const fuller = [...first.slice(1), "task-501"];
  await streams[2].acknowledge(fuller);
  expect(idsOf(setup).at(-1)).toEqual({ taskIds: fuller });
  streams[2].push(completed(sent, { taskId: "task-501" }));
  expect(await result).toEqual(sent);
  await client.close();
  await ends;
  expect(clock.armed).toBe(0);
});

it("polls those for whom a server has no further stream, and listens to them when there is room", async () => {
  const setup = await setUpStreams();
  const { server, client, streams } = setup;
  const taskIds = Array.from({ length: 501 }, (_, place) => `task-${place}`);
  const told = ({ params }: SeenRequest): Answer =>
    working({ taskId: params["taskId"], pollIntervalMs: 60_000 });
  server.script("tasks/get", ...taskIds.map(() => told), told, told);
  server.script(listenMethod, streams[0], { error: { code: -32601, message: "no more" } }, streams[1]);
  const waitFor = async (id: string): Promise<unknown> =>
    (await client.resume({ server: server.url, generation: "2026-07-28", taskId: id })).result();
  const waits = taskIds.slice(0, 500).map(waitFor);
  await server.sees("tasks/get", 500);
  await wake(setup, 10);
  await streams[0].acknowledge(taskIds.slice(0, 500));
  waits.push(waitFor("task-500"), waitFor("task-501"));
  await wake(setup, 10);
  await server.sees(listenMethod, 2);
  waits.push(waitFor("task-502"));
  const ends = Promise.allSettled(waits);
  await server.sees("tasks/get", 501);
  streams[0].push(completed(sent, { taskId: "task-0" }));
  expect(await waits[0]).toEqual(sent);
  await wake(setup, 2495);
  await server.sees(listenMethod, 3);
  expect(idsOf(setup).at(-1)).toEqual({ taskIds: [...taskIds.slice(1, 500), "task-500"] });
  await client.close();
  await ends;
});
