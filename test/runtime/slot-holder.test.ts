import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { SlotHolder } from "../../src/runtime/journal/slot-holder.ts";
import { Slots } from "../../src/runtime/dispatch/slots.ts";
import { rest } from "../../src/testing/clocks.ts";

/** One slot, held by an attempt. */
function held(): { holder: SlotHolder; slots: Slots; free: () => boolean } {
  const slots = new Slots(1);
  slots.tryTake();
  const free = (): boolean => {
    const taken = slots.tryTake();
    if (taken) slots.give();
    return taken;
  };
  return { holder: new SlotHolder(slots.of(null)), slots, free };
}

describe("a handler", () => {
  it("has no slot while it waits, and one when the wait is over, whichever way", async () => {
    for (const end of ["resolve", "reject"] as const) {
      const { holder, free } = held();
      expect(free()).toBe(false);
      const wait = Promise.withResolvers<void>();
      const waiting = holder.whileWaiting("event", () => wait.promise);
      expect([free(), holder.waiting]).toEqual([true, true]);
      wait[end]();
      await waiting.catch(() => undefined);
      expect([free(), holder.waiting]).toEqual([false, false]);
      holder.end();
      expect(free()).toBe(true);
    }
  });

  it("goes on only when there is a slot for it", async () => {
    const { holder, slots } = held();
    const wait = Promise.withResolvers<string>();
    let went = "";
    const going = holder.whileWaiting("event", () => wait.promise).then((value) => (went = value));
    slots.tryTake(); // somebody else
    wait.resolve("on");
    await rest();
    expect(went).toBe("");
    slots.give();
    await going;
    expect(went).toBe("on");
  });

  it("keeps its slot while a step runs beside a wait, and gives it back after", async () => {
    const { holder, free } = held();
    const step = Promise.withResolvers<void>();
    const working = holder.whileWorking(() => step.promise);
    const wait = Promise.withResolvers<void>();
    const waiting = holder.whileWaiting("event", () => wait.promise);
    expect([free(), holder.working]).toEqual([false, true]);
    step.resolve();
    await working;
    await rest();
    expect([free(), holder.working]).toEqual([true, false]);
    wait.resolve();
    await waiting;
    expect(free()).toBe(false);
  });

  it("takes a slot for a step that it begins beside a wait, and gives it back when the step throws", async () => {
    const { holder, slots, free } = held();
    const waiting = holder.whileWaiting("event", () => new Promise(() => undefined));
    slots.tryTake(); // somebody else
    let ran = false;
    const working = holder.whileWorking(async () => {
      ran = true;
      throw new Error("broken");
    });
    await rest();
    expect(ran).toBe(false);
    slots.give();
    await expect(working).rejects.toThrow("broken");
    expect(ran).toBe(true);
    await rest();
    expect(free()).toBe(true);
    void waiting;
  });

  it("takes one slot for all its branches, however many go on at once", async () => {
    const { holder, free } = held();
    const waits = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    const all = Promise.all(waits.map(({ promise }) => holder.whileWaiting("event", () => promise)));
    for (const wait of waits) wait.resolve();
    await all;
    expect(free()).toBe(false);
    holder.end();
    holder.end();
    expect(free()).toBe(true);
  });

  it("leaves nothing behind of waits that are over", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { holder } = held();
    const used = async (): Promise<number> => {
      for (let round = 0; round < 5; round++) {
        await rest();
        collect();
      }
      return process.memoryUsage().heapUsed;
    };
    const wait = async (times: number): Promise<void> => {
      for (let n = 0; n < times; n++) await holder.whileWaiting("event", () => Promise.resolve());
    };
    await wait(1_000);
    const before = await used();
    await wait(40_000);
    const bytes = (await used()) - before;
    expect(bytes / 40_000).toBeLessThan(100);
    expect(holder.holds).toBe(true);
  });

  it("that ended takes no slot any more, nor keeps one that it was waiting for", async () => {
    const { holder, slots, free } = held();
    const wait = Promise.withResolvers<void>();
    const waiting = holder.whileWaiting("event", () => wait.promise);
    slots.tryTake(); // somebody else
    wait.resolve();
    await rest();
    holder.end();
    slots.give();
    await waiting;
    expect(free()).toBe(true);
    await holder.whileWaiting("event", () => Promise.resolve());
    await holder.whileWorking(() => Promise.resolve());
    await rest();
    expect(free()).toBe(true);
    expect(slots.tryTake()).toBe(true);
    expect(slots.tryTake()).toBe(false);
    await holder.whileWaiting("event", () => Promise.resolve()); // nobody gives a slot: it needs none
  });
});
