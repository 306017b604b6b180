import { expect, it } from "vitest";
import fc from "fast-check";
import { ReplayOrder } from "../../src/runtime/attempt/replay-order.ts";
import { rest } from "./fake-clock.ts";

it("lets what ended before end again in that order, whatever the order of the calls", async () => {
  const entries = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(entries, async (times) => {
      const replay = new ReplayOrder();
      const ended: { at: number; order: number }[] = [];
      const turns = times.map((at, order) => ({ at, order }));
      const shuffled = turns.toSorted((a, b) => ((a.order * 7) % 11) - ((b.order * 7) % 11));
      await Promise.all(
        shuffled.map(async ({ at, order }) => {
          await replay.turn(at, order);
          ended.push({ at, order });
        }),
      );
      expect(ended).toEqual(turns.toSorted((a, b) => a.at - b.at || a.order - b.order));
    }),
    { numRuns: 30 },
  );
});

it("lets one end at a time, after all that the one before set going", async () => {
  const replay = new ReplayOrder();
  const seen: string[] = [];
  const later = replay.turn(2, 1).then(() => seen.push("later"));
  const first = replay.turn(1, 0).then(async () => {
    seen.push("first");
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    seen.push("what it set going");
    await replay.turn(1, 2); // began after the other one, and ended before it
    seen.push("nested");
  });
  await Promise.all([later, first]);
  expect(seen).toEqual(["first", "what it set going", "nested", "later"]);
});

it("keeps nobody waiting that comes when all others have ended", async () => {
  const replay = new ReplayOrder();
  await replay.turn(5, 0);
  await rest();
  await replay.turn(1, 1);
});
