import { expect, it, onTestFinished, vi } from "vitest";
import { KeepAlive } from "../../../src/server/plain/plain-calls.ts";
import type { Progress, TaskRecord } from "../../../src/task/record.ts";
import { FakeClock } from "../../../src/testing/clocks.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { EventStream } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

interface Kept {
  readonly clock: FakeClock;
  readonly keepAlive: KeepAlive;
  readonly sent: Progress[];
}

function kept(): Kept {
  const clock = new FakeClock();
  const sent: Progress[] = [];
  const keepAlive = new KeepAlive(clock, (report) => sent.push(report as unknown as Progress));
  return { clock, keepAlive, sent };
}

const at = (progress: Progress | null, statusMessage: string | null = null): TaskRecord =>
  ({ progress, statusMessage, finishedAt: null }) as TaskRecord;

it("reports every 15 seconds that a silent call goes on, with progress that grows", async () => {
  const { clock, keepAlive, sent } = kept();
  await clock.advance(14_999);
  expect(sent).toEqual([]);
  await clock.advance(1);
  expect(sent).toEqual([{ progress: 0 }]);
  keepAlive.changed(at({ progress: 3, total: 3, message: "three" }));
  await clock.advance(14_000);
  expect(sent.at(-1)).toEqual({ progress: 3, total: 3, message: "three" });
  await clock.advance(31_000);
  // A total that progress has passed is left out.
  expect(sent.slice(2)).toMatchObject([{ message: "three" }, { message: "three" }, { message: "three" }]);
  expect(sent.slice(2).every((report) => report.total === undefined)).toBe(true);
  // A report of the handler that does not grow is left out.
  keepAlive.changed(at({ progress: 3 }));
  keepAlive.changed(at({ progress: 4, total: 5 }));
  expect(sent.at(-1)).toEqual({ progress: 4, total: 5 });
  const values = sent.map(({ progress }) => progress);
  expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  keepAlive.stop();
  await clock.advance(60_000);
  expect(sent).toHaveLength(values.length);
});

it.each([0, 1, -5, 1e9, 2 ** 53])("lets progress grow from %d", async (progress) => {
  const { clock, keepAlive, sent } = kept();
  keepAlive.changed(at({ progress }, "busy"));
  await clock.advance(15_000);
  expect(sent[1]?.progress).toBeGreaterThan(progress);
  expect(sent[1]?.message).toBe("busy");
  keepAlive.stop();
});

it("sends the last progress of a task that has ended, and not the text of its end, which its answer says", async () => {
  const { clock, keepAlive, sent } = kept();
  keepAlive.changed(at({ progress: 3, message: "three" }));
  keepAlive.changed({ ...at({ progress: 4 }, "no paper"), finishedAt: 5 });
  await clock.advance(15_000);
  expect(sent.map(({ message }) => message)).toEqual(["three", undefined, "three"]);
  expect(sent[1]).toEqual({ progress: 4 });
  keepAlive.stop();
});

it("sends the handler's progress with the token of the call and on its stream, in both eras", async () => {
  const report = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("count", {}, async (_args, task) => {
        await report.promise;
        task.progress(1, 2, "one");
        await heard.promise;
        return text("counted");
      }),
  });
  const meta = { progressToken: "t" };
  let stream: EventStream | undefined;
  const peer = new StatelessClient(http.url, async (url, init) => {
    const response = fetch(url, init);
    report.resolve();
    stream = new EventStream(await response);
    return Response.json({});
  });
  await peer.call("count", {}, { capabilities: {}, meta });
  const expected = { progressToken: "t", progress: 1, total: 2, message: "one" };
  expect(await stream?.message()).toMatchObject({ method: "notifications/progress", params: expected });
  heard.resolve();
  expect(await stream?.message()).toMatchObject({ result: text("counted") });

  const { server } = await startServer((tasks) =>
    tasks.tool("count", {}, async (_args, task) => {
      task.progress(1, 2, "one");
      await gone.promise;
      return text("counted");
    }),
  );
  const gone = Promise.withResolvers<void>();
  const session = await InMemorySession.open(server, { streams: new FakeStreams() });
  const call = session.call("count", {}, { _meta: { progressToken: 7 } });
  const notification = await session.asked("notifications/progress");
  expect(notification["params"]).toEqual({ ...expected, progressToken: 7 });
  gone.resolve();
  expect(await session.result(call)).toEqual(text("counted"));
  expect(session.requests("notifications/progress")).toHaveLength(1);
});

it("begins the stream of a call that is silent for long, though its client wants no progress", async () => {
  const began = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("wait", { plain: "wait" }, async () => {
        began.resolve();
        await gone.promise;
        return text("waited");
      }),
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise: response, resolve } = Promise.withResolvers<Response>();
  const peer = new StatelessClient(http.url, async (url, init) => {
    resolve(await fetch(url, init));
    return Response.json({});
  });
  const call = peer.call("wait", {}, { capabilities: {} });
  await began.promise;
  vi.advanceTimersByTime(15_000);
  const stream = new EventStream(await response);
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  gone.resolve();
  expect(await stream.message()).toMatchObject({ result: text("waited") });
  await call;
});
