import { expect, test } from "vitest";
import { InDoubt, type CommittedGroup } from "../../../src/store/postgres/group-writer.ts";
import { WriteQueue } from "../../../src/store/postgres/write-queue.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import { HoldfastError } from "../../../src/task/fault.ts";
import { createQueued, createRunning } from "../../../src/testing/sample-task.ts";

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

test("a task whose creator was told that it failed is given back as one that no attempt has begun", async () => {
  const known = Promise.withResolvers<boolean>();
  const nothing: CommittedGroup = { answers: [], changes: [] };
  const away = new HoldfastError("store_failed", "away");
  const written: TaskCommand[] = [];
  const commit = async (commands: readonly TaskCommand[]): Promise<CommittedGroup> => {
    written.push(...commands);
    if (written.length > 1) return nothing;
    throw new InDoubt(nothing, nothing, away, () => known.promise);
  };
  const queue = new WriteQueue({ writer: { commit }, timeoutMs: 1, onCommit: () => undefined });
  await expect(queue.write(createRunning("a"))).rejects.toMatchObject({ message: "away" });
  known.resolve(true);
  await expect.poll(() => written.length).toBe(3);
  // Without the mark, the next attempt would count as a second one of a handler that may not run twice.
  const held = { id: "task-a", token: "t1" };
  expect(written.slice(1)).toMatchObject([
    { type: "mark", ...held },
    { type: "release", ...held },
  ]);
  await queue.close();
});
