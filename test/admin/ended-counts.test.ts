import { expect, it } from "vitest";
import { EndedCounts } from "../../src/admin/count-tasks.ts";

/** A store that counts one more each time, for so long. */
function slowStore(tookMs: () => number) {
  let now = 1_000;
  let counted = 0;
  const count = async (): Promise<number> => {
    counted++;
    const at = now;
    await Promise.resolve();
    now = at + tookMs();
    return counted;
  };
  const admin = { count };
  return {
    admin,
    ends: new EndedCounts(6, () => now),
    times: () => counted / 4,
    wait: (ms: number) => void (now += ms),
  };
}

it("counts anew each time where that is quick, and never beyond its bound", async () => {
  const { admin, ends, times } = slowStore(() => 5);
  expect(await ends.of(admin, "a")).toEqual({ completed: 4, failed: 6, cancelled: 4 });
  await ends.of(admin, "a");
  expect(times()).toBe(2);
});

it("counts once for all who ask at the same time, and keeps what took long for four times as long", async () => {
  const { admin, ends, times, wait } = slowStore(() => 500);
  const [one, other] = await Promise.all([ends.of(admin, "a"), ends.of(admin, "a")]);
  expect(other).toEqual(one);
  wait(1_999);
  expect(await ends.of(admin, "a")).toEqual(one);
  expect(times()).toBe(1);
  await ends.of(admin, "b");
  expect(times()).toBe(2);
  wait(2_000);
  await ends.of(admin, "a");
  expect(times()).toBe(3);
});

it("keeps no failure", async () => {
  const { admin, ends } = slowStore(() => 500);
  const failing = { count: () => Promise.reject(new Error("no store")) };
  await expect(ends.of(failing, "a")).rejects.toThrow("no store");
  expect((await ends.of(admin, "a")).failed).toBe(6);
});
