import { expect, it } from "vitest";
import { QueueReads } from "../../src/runtime/telemetry/observe-runtime.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { QueueLength } from "../../src/store/admin-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";

interface Asked {
  readonly clock: FakeClock;
  readonly reads: QueueReads;
  readonly asked: PromiseWithResolvers<readonly QueueLength[]>[];
}

/** A store whose answers come when a test gives them. */
function slowStore(): Asked {
  const clock = new FakeClock();
  const asked: Asked["asked"] = [];
  const store = memoryStore();
  if (store.admin === undefined) throw new Error("The store has no part for operators.");
  const admin = Object.assign(store.admin, {
    queues: () => {
      const answer = Promise.withResolvers<readonly QueueLength[]>();
      asked.push(answer);
      return answer.promise;
    },
    tasks: () => Promise.resolve([]),
  });
  return { clock, asked, reads: new QueueReads({ store: { admin }, clock }) };
}

it("asks a store that took long less often, but once a minute", async () => {
  const { clock, asked, reads } = slowStore();
  const first = reads.read();
  await clock.advance(2_000);
  expect(await first).toBeUndefined();
  asked[0]?.resolve([]);
  expect(await reads.read()).toEqual({ lengths: [], oldestMs: 0, waits: [], webhooks: [] });
  await clock.advance(39_000);
  await reads.read();
  expect(asked).toHaveLength(1);
  await clock.advance(1_000);
  const second = reads.read();
  expect(asked).toHaveLength(2);
  await clock.advance(3_600_000);
  await second;
  asked[1]?.resolve([]);
  await reads.read();
  await clock.advance(60_000);
  void reads.read();
  expect(asked).toHaveLength(3);
});

it("asks again as soon where the clock was set back", async () => {
  const { clock, asked, reads } = slowStore();
  const first = reads.read();
  asked[0]?.resolve([]);
  await first;
  clock.jump(-3_600_000);
  await clock.advance(4_999);
  await reads.read();
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  void reads.read();
  expect(asked).toHaveLength(2);
});
