import { expect, it } from "vitest";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { LimitAnswer, LimitCall } from "../../src/store/limits.ts";
import { createRunning, noon } from "../../src/testing/sample-task.ts";

const minute = 60_000;
const day = 1_440 * minute;

/** A store whose processes tell the time, and calls about a limit of two starts in a minute. */
async function opened(): Promise<
  (name: string | undefined, now: number, more?: Partial<LimitCall>) => Promise<LimitAnswer>
> {
  const store = memoryStore();
  await store.open({ id: "owner-1", handlers: [] });
  const { limits } = store;
  if (limits === undefined) throw new Error("The store has no limits.");
  const limit = { name: "api", concurrency: null, starts: 2, windowMs: minute } satisfies Partial<LimitCall>;
  return async (name, now, more) => {
    if (name !== undefined) await store.write(createRunning(name));
    const joins =
      name === undefined ? [] : [{ taskId: `task-${name}`, entry: "s", token: "t1", turnOf: "ann" }];
    return limits.call({ ...limit, now, joins, leaves: [], pauseMs: null, ...more });
  };
}

it("a clock that is set back shuts no limit for longer than its window", async () => {
  const ask = await opened();
  for (const name of ["a", "b", "c"]) await ask(name, noon + day);
  const before = await ask(undefined, noon);
  expect([before.granted.length, before.againMs]).toEqual([0, minute]);
  const after = await ask(undefined, noon + minute);
  expect(after.granted.map(({ taskId }) => taskId)).toEqual(["task-c"]);
});

it("a clock that is set back ends the pause of a limit in time", async () => {
  const ask = await opened();
  await ask("a", noon + day, { pauseMs: 9 * minute });
  expect((await ask(undefined, noon)).againMs).toBe(9 * minute);
  expect((await ask(undefined, noon + 9 * minute)).granted).toHaveLength(1);
});

it("a clock that is set ahead opens no limit early, and ends no pause of one", async () => {
  const ask = await opened();
  for (const name of ["a", "b", "c"]) await ask(name, noon);
  const setAhead = { before: noon + 1_000, after: noon + 1_000 + day };
  await ask(undefined, noon + 2_000 + day, { setAhead, name: "another" });
  const early = await ask(undefined, noon + 2_000 + day, { setAhead });
  expect([early.granted.length, early.againMs]).toEqual([0, minute - 2_000]);
  expect((await ask(undefined, noon + minute + day - 1, { setAhead })).granted).toEqual([]);
  const after = await ask(undefined, noon + minute + day, { setAhead, pauseMs: 9 * minute });
  expect(after.granted).toEqual([]);
  const again = { before: noon + 2 * minute + day, after: noon + 2 * minute + 2 * day };
  expect((await ask(undefined, again.after, { setAhead: again })).againMs).toBe(8 * minute);
});

it("times that arrive in disorder count in order", async () => {
  const ask = await opened();
  for (const name of ["a", "b", "c"]) await ask(name, noon + 4_000);
  expect((await ask(undefined, noon + minute - 1)).againMs).toBe(4_001);
});
