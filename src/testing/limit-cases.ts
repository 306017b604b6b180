import assert from "node:assert/strict";
import type { LimitAnswer, LimitCall, LimitJoin, LimitStore } from "../store/limits.ts";
import { createRunning, noon, reclaimGone, settleAs } from "./sample-task.ts";
import { ownerCases, storeCases } from "./store-case.ts";

interface Limited {
  readonly limits: LimitStore;
}

const holder = (name: string, entry = "s"): { taskId: string; entry: string; token: string } => ({
  taskId: `task-${name}`,
  entry,
  token: "t1",
});

const join = (name: string, turnOf = "ann", entry = "s"): LimitJoin => ({ ...holder(name, entry), turnOf });

/** A call about the limit `api`, of two at a time. */
function call({ limits }: Limited, members: Partial<LimitCall> = {}): Promise<LimitAnswer> {
  const nothing = { joins: [], leaves: [], pauseMs: null };
  return limits.call({
    name: "api",
    concurrency: 2,
    starts: null,
    windowMs: 3_600_000,
    now: noon,
    ...nothing,
    ...members,
  });
}

const entries = ({ granted }: LimitAnswer): readonly string[] =>
  granted.map(({ taskId, entry }) => `${taskId.replace("task-", "")} ${entry}`);

/** Asks until somebody gets a permit, each time a little later for a store without a clock. */
async function soon(store: Limited, members: Partial<LimitCall>): Promise<LimitAnswer> {
  for (let now = noon; ; now++) {
    const answer = await call(store, { ...members, now });
    if (answer.granted.length > 0) return answer;
  }
}

export const limitCases = storeCases("limits", {
  "so many have a permit at a time, and the next one gets the first that comes free": async ({ store }) => {
    for (const name of ["a", "b", "c"]) await store.write(createRunning(name));
    const first = await call(store, { joins: [join("a"), join("b"), join("c")] });
    assert.deepEqual(entries(first), ["a s", "b s"]);
    assert.equal(first.waiting, 1);
    assert.deepEqual(entries(await call(store)), []);
    assert.deepEqual(entries(await call(store, { leaves: [holder("b")] })), ["c s"]);
    assert.equal((await call(store)).waiting, 0);
  },
  "limits of different names or keys do not count for each other": async ({ store }) => {
    await store.write(createRunning("a"));
    for (const name of ["api", '["api","x"]', '["api","y"]'])
      assert.deepEqual(entries(await call(store, { name, concurrency: 1, joins: [join("a")] })), ["a s"]);
  },
  "principals take turns": async ({ store }) => {
    for (const name of ["a", "b", "c", "d", "e"]) await store.write(createRunning(name));
    const joins = [join("a"), join("b"), join("c"), join("d", "ben"), join("e", "cleo")];
    const order = [...entries(await call(store, { concurrency: 1, joins }))];
    for (const name of ["a", "d", "e", "b"])
      order.push(...entries(await call(store, { concurrency: 1, leaves: [holder(name)] })));
    assert.deepEqual(order, ["a s", "d s", "e s", "b s", "c s"]);
  },
  "an attempt that lost its task has no permit, and does not wait": async ({ store }) => {
    for (const name of ["a", "b", "c"]) await store.write(createRunning(name));
    const joins = [join("a"), join("b"), join("c")];
    assert.deepEqual(entries(await call(store, { concurrency: 1, joins })), ["a s"]);
    for (const name of ["a", "b"])
      await store.write({ type: "release", now: noon, id: `task-${name}`, token: "t1" });
    assert.deepEqual(entries(await call(store, { concurrency: 1 })), ["c s"]);
    assert.deepEqual(
      (await store.limits.ofTask("task-b")).map(({ isWaiting }) => isWaiting),
      [true],
    );
  },
  "who comes back has its place in line, and a finished task has none": async ({ store }) => {
    for (const name of ["a", "b", "c"]) await store.write(createRunning(name));
    await call(store, { concurrency: 1, joins: [join("a"), join("b"), join("c")] });
    await store.write({ type: "release", now: noon, id: "task-b", token: "t1" });
    await call(store, { concurrency: 0, leaves: [holder("a")] });
    await store.write({ type: "start", now: noon, id: "task-b", token: "t2" });
    const back = { ...join("b"), token: "t2" };
    assert.deepEqual(entries(await call(store, { concurrency: 1, joins: [back] })), ["b s"]);
    await store.write(settleAs("c"));
    assert.deepEqual(entries(await call(store)), []);
  },
  "the permit of what lives on stays until its task has ended, and the next attempt takes it over": async ({
    store,
  }) => {
    for (const name of ["a", "b"]) await store.write(createRunning(name));
    const goesOn = { ...join("a"), livesOn: true } as const;
    assert.deepEqual(entries(await call(store, { concurrency: 1, joins: [goesOn, join("b")] })), ["a s"]);
    await store.write({ type: "release", now: noon, id: "task-a", token: "t1" });
    assert.deepEqual(entries(await call(store, { concurrency: 1 })), []);
    await store.write({ type: "start", now: noon, id: "task-a", token: "t2" });
    const next = { ...goesOn, token: "t2" };
    assert.deepEqual(entries(await call(store, { concurrency: 1, joins: [next] })), ["a s"]);
    const outcome = { kind: "result", body: "{}" } as const;
    await store.write({ type: "settle", now: noon, id: "task-a", token: "t2", outcome });
    assert.deepEqual(entries(await call(store, { concurrency: 1 })), ["b s"]);
  },
  "so many start within a window, whether or not they have ended": async ({ store }) => {
    for (const name of ["a", "b", "c"]) await store.write(createRunning(name));
    const rate = { concurrency: null, starts: 2 };
    const first = await call(store, { ...rate, joins: [join("a"), join("b"), join("c")] });
    assert.deepEqual(entries(first), ["a s", "b s"]);
    const next = await call(store, { ...rate, leaves: [holder("a"), holder("b")] });
    assert.deepEqual(entries(next), []);
    assert.ok(next.againMs !== null && next.againMs > 0 && next.againMs <= 3_600_000, String(next.againMs));
    assert.deepEqual(entries(await soon(store, { ...rate, windowMs: 2 })), ["c s"]);
  },
  "nobody gets a permit during a pause, and a shorter one does not end it": async ({ store }) => {
    await store.write(createRunning("a"));
    await call(store, { pauseMs: 3_600_000 });
    const answer = await call(store, { pauseMs: 1, joins: [join("a")] });
    assert.deepEqual(entries(answer), []);
    assert.ok(answer.againMs !== null && answer.againMs > 1_000, String(answer.againMs));
    await call(store, { name: "other", pauseMs: 2 });
    assert.deepEqual(entries(await soon(store, { name: "other", joins: [join("a")] })), ["a s"]);
  },
  "a place that is given up is free, and who asks twice has one": async ({ store }) => {
    for (const name of ["a", "b"]) await store.write(createRunning(name));
    await call(store, { concurrency: 1, joins: [join("a"), join("b"), join("b")] });
    assert.equal((await call(store, { concurrency: 1 })).waiting, 1);
    assert.equal((await call(store, { concurrency: 1, leaves: [holder("b")] })).waiting, 0);
    assert.deepEqual(await store.limits.ofTask("task-b"), []);
    assert.deepEqual(entries(await call(store, { concurrency: 1, joins: [join("a")] })), ["a s"]);
    const [place] = await store.limits.ofTask("task-a");
    assert.ok(place !== undefined && !place.isWaiting && place.name === "api" && place.entry === "s");
  },
  "names and keys are any texts": async ({ store }) => {
    await store.write(createRunning("a"));
    const odd = "\0 \ud800 'é";
    const joins = [join("a", "ann", odd)];
    assert.deepEqual(entries(await call(store, { name: odd, joins })), [`a ${odd}`]);
    assert.deepEqual(
      (await store.limits.ofTask("task-a")).map(({ name, entry }) => [name, entry]),
      [[odd, odd]],
    );
  },
});

export const sharedLimitCases = ownerCases("limits", {
  "permits count for all owners, and one that gets a permit through another is told": async ({
    store,
    join: joinStore,
  }) => {
    const { store: other } = await joinStore();
    await store.write(createRunning("a"));
    await other.write(createRunning("b"));
    assert.deepEqual(entries(await call(store, { concurrency: 1, joins: [join("a")] })), ["a s"]);
    assert.deepEqual(entries(await call(other, { concurrency: 1, joins: [join("b")] })), []);
    const told = new Promise<void>((resolve) => {
      other.subscribe((changes, by) => {
        if (by === "others" && changes !== "gap" && changes.some(({ id }) => id === "task-b")) resolve();
      });
    });
    assert.deepEqual(entries(await call(store, { concurrency: 1, leaves: [holder("a")] })), []);
    await told;
    assert.deepEqual(entries(await call(other, { concurrency: 1 })), ["b s"]);
    assert.deepEqual(entries(await call(other, { concurrency: 1 })), []);
  },
  "the permits of a dead owner are free once its tasks went to others": async ({
    store,
    join: joinStore,
    kill,
  }) => {
    const { store: lost, owner } = await joinStore();
    await lost.write(createRunning("a"));
    await store.write(createRunning("b"));
    const alone = { taskId: "alone", entry: "s", token: "", turnOf: "ann" };
    const joins = [join("a"), alone];
    assert.deepEqual(entries(await call(lost, { joins })), ["a s", "alone s"]);
    assert.deepEqual(entries(await call(store, { joins: [join("b")] })), []);
    await kill(owner);
    assert.deepEqual(entries(await call(store)), []);
    await reclaimGone(store);
    assert.deepEqual(entries(await call(store)), ["b s"]);
    await assert.rejects(call(lost, { joins }), { code: "store_lost" });
  },
});
