import { expect, it } from "vitest";
import { TaskFeed } from "../../src/server/listen/feeds.ts";
import type { ServerTelemetry } from "../../src/runtime/telemetry/telemetry.ts";
import { Process, text } from "../runtime/harness.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { RecordedSpans } from "./recorded-spans.ts";

const hour = 3_600_000;

/** Telemetry, and the delays of pushes that it is told. */
function heard(): { telemetry: ServerTelemetry; delays: number[] } {
  const { tracing, metrics } = new RecordedSpans().telemetry;
  const delays: number[] = [];
  metrics.pushed = (delayMs) => void delays.push(delayMs);
  return { telemetry: { tracing, metrics }, delays };
}

it("measures how long after a change a listener is told of it, and not the state that it asked for, nor a ttl that grows", async () => {
  const { telemetry, delays } = heard();
  const going = Promise.withResolvers<void>();
  const tools = { waits: async () => (await going.promise, text("done")) };
  const process = await Process.started({ tools, telemetry, options: { keepMs: 10 * hour } });
  const id = await process.callId("waits");
  const feed = await TaskFeed.open(process.runtime, { principal: null }, [id]);
  expect(await feed.take()).toMatchObject({ status: "working" });
  await process.clock.advance(10 * hour);
  expect(await feed.take()).toMatchObject({ status: "working" });
  expect(delays).toEqual([]);
  going.resolve();
  await process.ended(id);
  await process.clock.advance(40);
  expect(await feed.take()).toMatchObject({ status: "completed" });
  expect(delays).toEqual([40]);
  feed.close();
});

it("measures what sessions are told of", async () => {
  const { telemetry, delays } = heard();
  const going = Promise.withResolvers<void>();
  const { http } = await serve({
    tools: (tasks) =>
      tasks.tool("waits", {}, async (_, task) => {
        await going.promise;
        await task.status("half way");
        return text("done");
      }),
    options: { telemetry },
  });
  const peer = await SessionClient.open(http.url);
  const stream = await peer.listen();
  await peer.request("tools/call", { name: "waits", task: {} });
  going.resolve();
  for (;;) {
    const message = await stream.message();
    if ((message?.["params"] as { status?: string } | undefined)?.status === "completed") break;
  }
  expect(delays.length).toBeGreaterThanOrEqual(1);
  expect(delays.every((delay) => delay >= 0 && delay < 10_000)).toBe(true);
});
