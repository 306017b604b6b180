import { expect, it } from "vitest";
import { TaskFeed } from "../../src/server/listen/feeds.ts";
import { Process, text } from "../runtime/harness.ts";

const hour = 3_600_000;
const never = new Promise<never>(() => undefined);
const tools = { hangs: () => never, quick: () => text("quick") };

it("tells a listener of a ttl that grew before the old one is over, and of nothing else [X-023]", async () => {
  const process = await Process.started({ tools, options: { keepMs: 10 * hour } });
  const id = await process.callId("hangs");
  const feed = await TaskFeed.open(process.runtime, { principal: null }, [id]);
  const told: (number | null)[] = [];
  const listening = (async () => {
    while (await feed.changed()) {
      const task = await feed.take();
      if (task !== undefined) told.push(task.ttlMs);
    }
  })();
  await process.clock.advance(5 * hour);
  expect(told).toEqual([10 * hour]);
  await process.clock.advance(5 * hour);
  expect(told).toEqual([10 * hour, 20 * hour]);
  await process.clock.advance(20 * hour);
  expect(told).toEqual([10 * hour, 20 * hour, 30 * hour, 40 * hour]);
  feed.close();
  await listening;
});

it("looks no more at tasks that have ended, nor once it is closed", async () => {
  const process = await Process.started({ tools, options: { concurrency: 8 } });
  const [ended, open] = [await process.callId("quick"), await process.callId("hangs")];
  await process.ended(ended);
  const before = process.clock.armed;
  const feed = await TaskFeed.open(process.runtime, { principal: null }, [ended, open]);
  for (const _ of [ended, open]) expect(await feed.take()).toBeDefined();
  expect(process.clock.armed).toBe(before + 1);
  feed.close();
  expect(process.clock.armed).toBe(before);
});
