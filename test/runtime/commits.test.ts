import { expect, it } from "vitest";
import { Commits } from "../../src/runtime/observed-store.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { FakeClock } from "../../src/testing/clocks.ts";

const day = 24 * 3_600_000;

it("asks for a small write only where none is recent, or a write has failed", async () => {
  const clock = new FakeClock();
  const commits = new Commits(clock);
  let probes = 0;
  let isFull = false;
  const probe = async (): Promise<void> => {
    probes++;
    if (isFull) throw new HoldfastError("store_failed", "The disk is full.");
  };
  const look = (): Promise<void> => commits.assertTaken(probe);
  const fails = (code: "store_failed" | "too_large"): Promise<void> =>
    expect(commits.watch(Promise.reject(new HoldfastError(code, "no")))).rejects.toMatchObject({ code });
  await look();
  await look();
  expect(probes).toBe(1);
  await clock.advance(10_000);
  await look();
  expect(probes).toBe(2);
  await fails("too_large");
  await commits.watch(Promise.resolve());
  await look();
  expect(probes).toBe(2);
  await fails("store_failed");
  isFull = true;
  await expect(look()).rejects.toMatchObject({ code: "store_failed" });
  await commits.watch(Promise.resolve()); // a command may change nothing
  await expect(look()).rejects.toMatchObject({ code: "store_failed" });
  isFull = false;
  await look();
  await look();
  expect(probes).toBe(5);
  clock.jump(-day);
  await clock.advance(9_999);
  await look();
  expect(probes).toBe(5);
  await clock.advance(1);
  await look();
  expect(probes).toBe(6);
});
