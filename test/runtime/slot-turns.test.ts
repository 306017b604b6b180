import { describe, expect, it } from "vitest";
import { Slots } from "../../src/runtime/dispatch/slots.ts";
import { rest } from "../../src/testing/clocks.ts";

/** One slot, which is taken, and who goes on with it when it comes free. */
function taken() {
  const slots = new Slots(1);
  slots.tryTake();
  const order: string[] = [];
  let claims = 0;
  slots.onFree(() => {
    if (claims === 0) return false;
    claims--;
    order.push("claim");
    return true;
  });
  const resume = (principal: string | null, times = 1): void => {
    for (let time = 0; time < times; time++) {
      void slots
        .of(principal)
        .takeToResume()
        .then(() => order.push(principal ?? "nobody"));
    }
  };
  const give = async (times: number): Promise<readonly string[]> => {
    for (let time = 0; time < times; time++) {
      slots.give();
      await rest();
    }
    return order;
  };
  return { slots, resume, give, claim: (times: number) => (claims += times) };
}

describe("a slot that comes free", () => {
  it("goes to principals in turn, however many handlers of one wait", async () => {
    const { resume, give } = taken();
    resume("ann", 100);
    resume("bob", 2);
    resume(null);
    expect(await give(6)).toEqual(["ann", "bob", "nobody", "ann", "bob", "ann"]);
    resume("bob");
    expect((await give(2)).slice(6)).toEqual(["ann", "bob"]);
  });

  it("goes to a claim every other time, where tasks wait for one", async () => {
    const { resume, give, claim } = taken();
    resume("ann", 100);
    claim(2);
    expect(await give(6)).toEqual(["ann", "claim", "ann", "claim", "ann", "ann"]);
    claim(1);
    expect((await give(1)).slice(6)).toEqual(["claim"]);
  });

  it("is free where nobody wants it", async () => {
    const { slots, give, claim, resume } = taken();
    expect(slots.hasFree).toBe(false);
    await give(1);
    expect(slots.hasFree).toBe(true);
    resume("ann");
    await rest();
    expect(slots.hasFree).toBe(false);
    claim(1);
    expect(await give(1)).toEqual(["ann", "claim"]);
    expect([slots.hasFree, slots.tryTake()]).toEqual([false, false]);
  });
});
