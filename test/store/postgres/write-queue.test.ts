import { expect, test } from "vitest";
import { WriteQueue } from "../../../src/store/postgres/write-queue.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import { createQueued } from "../../../src/testing/sample-task.ts";

test("nobody waits for one group after the other to fail", async () => {
  let groups = 0;
  let fail = (): void => undefined;
  const commit = (): Promise<never> => {
    groups++;
    return new Promise((_, reject) => {
      fail = () => reject(new HoldfastError("store_failed", "away"));
    });
  };
  const queue = new WriteQueue({ writer: { commit }, timeoutMs: 1, onCommit: () => undefined });
  const answers = Promise.allSettled(
    Array.from({ length: 1_000 }, (_, n) => queue.write(createQueued(`${n}`))),
  );
  const since = performance.now();
  await expect.poll(() => performance.now() - since).toBeGreaterThan(1);
  fail();
  for (const answer of await answers)
    expect(answer).toMatchObject({ status: "rejected", reason: { message: "away" } });
  expect(groups).toBe(1);
  await queue.close();
});
