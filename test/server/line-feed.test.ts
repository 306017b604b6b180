import { expect, it } from "vitest";
import { taskResourceAt, taskResourceUri } from "../../src/generation/extensions.ts";
import { lineReader } from "../../src/server/2026-07-28/admission.ts";
import { LineFeed } from "../../src/server/listen/feeds.ts";
import { rest } from "../../src/testing/clocks.ts";
import { Process, text } from "../runtime/harness.ts";

const anyone = lineReader({ principal: null });

/** A task that logs when it is told to, and the feed of a follower of its log. */
async function followed() {
  const logs: ((line: string) => Promise<void>)[] = [];
  const end = Promise.withResolvers<void>();
  const process = await Process.started({
    tools: {
      work: async (_, task) => {
        logs.push((line) => task.log("info", line));
        await end.promise;
        return text("done");
      },
    },
  });
  const id = await process.callId("work");
  await rest();
  const [log = async () => undefined] = logs;
  const uri = taskResourceUri(id, "log");
  const feed = new LineFeed(process.runtime);
  const resource = taskResourceAt(uri);
  if (resource === undefined) throw new Error(`${uri} names no log.`);
  const told: string[] = [];
  const listen = async (): Promise<void> => {
    while (await feed.changed()) {
      const grown = await feed.take();
      if (grown !== undefined) told.push(grown.uri);
    }
  };
  return { process, id, log, end: end.resolve, feed, resource, told, listen, uri };
}

it("tells of many lines once in 50 ms, and of those that came meanwhile after that", async () => {
  const { process, log, feed, resource, told, listen, uri } = await followed();
  await feed.add(resource, anyone);
  const listening = listen();
  await rest();
  expect(told).toEqual([]); // nothing is new to who has just begun
  await log("one");
  await rest();
  expect(told).toEqual([uri]);
  for (const line of ["two", "three", "four"]) await log(line);
  await process.clock.advance(49);
  expect(told).toEqual([uri]);
  await process.clock.advance(1);
  expect(told).toEqual([uri, uri]);
  await process.clock.advance(1_000);
  expect(told).toEqual([uri, uri]);
  feed.close();
  await listening;
});

it("tells of the end once, also who begins to follow after it, and follows no more", async () => {
  const { process, id, end, feed, resource, told, listen, uri } = await followed();
  await feed.add(resource, anyone);
  const listening = listen();
  end();
  await process.ended(id);
  await rest();
  expect([told, feed.size]).toEqual([[uri], 0]);
  await feed.add(resource, anyone);
  await rest();
  expect([told, feed.size]).toEqual([[uri, uri], 0]);
  feed.close();
  await listening;
});

it("tells of nothing that is not followed any more, and leaves no timer behind", async () => {
  const { process, log, feed, resource, told, listen, uri } = await followed();
  const before = process.clock.armed;
  await feed.add(resource, anyone);
  const listening = listen();
  await log("one");
  await rest();
  expect([told, process.clock.armed]).toEqual([[uri], before + 1]);
  feed.remove(uri);
  expect([feed.size, process.clock.armed]).toEqual([0, before]);
  await log("two");
  await process.clock.advance(1_000);
  expect(told).toEqual([uri]);
  feed.close();
  await listening;
  expect(await feed.changed()).toBe(false);
});

it("gives again what could not be read", async () => {
  const { process, id, end, feed, resource } = await followed();
  await feed.add(resource, anyone, true);
  end();
  await process.ended(id);
  await process.runtime.stop(0);
  for (const _ of ["once", "again"]) {
    expect(await feed.changed()).toBe(true);
    await expect(feed.take()).rejects.toMatchObject({ code: "stopping" });
  }
  feed.close();
});
