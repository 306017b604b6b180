import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Timers } from "../../src/runtime/timers.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const day = 24 * 3_600_000;

/** Timers of random times, some of which are called off. */
const arbitraryTimers = fc.array(
  fc.record({ after: fc.integer({ min: -1_000, max: 200_000 }), isCancelled: fc.boolean() }),
  { maxLength: 60 },
);

describe("timers", () => {
  it("run in the order of their times, each once, and never those that were called off", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryTimers, async (all) => {
        const clock = new FakeClock();
        const timers = new Timers(clock);
        const begun = clock.now();
        const ran: { at: number; index: number }[] = [];
        const cancels = all.map(({ after }, index) =>
          timers.at(begun + after, () => ran.push({ at: clock.now() - begun, index })),
        );
        for (const [index, { isCancelled }] of all.entries()) if (isCancelled) cancels[index]?.();
        await clock.advance(300_000);
        const expected = [...all.entries()].filter(([, { isCancelled }]) => !isCancelled);
        expect(ran.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual(
          expected.map(([index]) => index),
        );
        for (const { at, index } of ran) expect(at).toBe(Math.max(0, all[index]?.after ?? 0));
        expect(ran.map(({ at }) => at)).toEqual(ran.map(({ at }) => at).toSorted((a, b) => a - b));
        expect(clock.armed).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it("that come due at once run in the order of their times", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 100 }), async (times) => {
        const clock = new FakeClock();
        const timers = new Timers(clock);
        const begun = clock.now();
        const ran: number[] = [];
        for (const after of times) timers.at(begun + after, () => ran.push(after));
        clock.suspend(100_000);
        await clock.advance(60_000);
        expect(ran).toEqual(times.toSorted((a, b) => a - b));
      }),
      { numRuns: 60 },
    );
  });

  it("that are called off late, twice or while others run, disturb no others", async () => {
    const clock = new FakeClock();
    const timers = new Timers(clock);
    const begun = clock.now();
    const ran: number[] = [];
    const cancels: (() => void)[] = [];
    for (let n = 0; n < 100; n++) {
      cancels.push(
        timers.at(begun + n, () => {
          ran.push(n);
          cancels[n]?.();
          cancels[n + 1]?.();
          cancels[n + 1]?.();
        }),
      );
    }
    await clock.advance(200);
    expect(ran).toEqual(Array.from({ length: 50 }, (_, n) => 2 * n));
  });

  it("that were called off are let go of once they are the majority, and the others still run", async () => {
    const clock = new FakeClock();
    const timers = new Timers(clock);
    const ran: number[] = [];
    for (let n = 1; n <= 10; n++) timers.at(clock.now() + n * day, () => ran.push(n));
    const held: WeakRef<object>[] = [];
    for (let n = 0; n < 1_000; n++) {
      const big = { n };
      held.push(new WeakRef(big));
      timers.at(clock.now() + 20 * day, () => void big.n)();
    }
    await rest(); // what a WeakRef was made for lives until the end of the turn
    collectGarbage();
    expect(held.filter((each) => each.deref() !== undefined).length).toBeLessThan(20);
    clock.suspend(11 * day);
    await clock.advance(60_000);
    expect(ran).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("share one armed timer, however many they are, and none when they are closed", () => {
    const clock = new FakeClock();
    const timers = new Timers(clock);
    for (let n = 100; n > 0; n--) timers.at(clock.now() + n * day, () => undefined);
    expect(clock.armed).toBe(1);
    timers.close();
    expect(clock.armed).toBe(0);
    timers.at(clock.now(), () => undefined);
    expect(clock.armed).toBe(0);
  });

  it("wait for a time that is months away", async () => {
    const clock = new FakeClock();
    const timers = new Timers(clock);
    let ran = 0;
    timers.at(clock.now() + 60_000 + 1, () => ran++);
    await clock.advance(60_000);
    expect(ran).toBe(0);
    await clock.advance(1);
    expect(ran).toBe(1);
  });
});

describe("a pause", () => {
  it("resolves in time, and rejects with the reason of an abort before, with no timer left", async () => {
    const clock = new FakeClock();
    const timers = new Timers(clock);
    const abort = new AbortController();
    const inTime = timers.pause(10, abort.signal);
    const late = timers.pause(20, abort.signal);
    await clock.advance(10);
    await inTime;
    abort.abort(new Error("enough"));
    await expect(late).rejects.toThrow("enough");
    await expect(timers.pause(0, abort.signal)).rejects.toThrow("enough");
    await clock.advance(60_000);
    expect(clock.armed).toBe(0);
  });
});
