import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { TaskStore } from "../../../src/store/store.ts";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";
import { wholeJournal } from "../../../src/testing/sample-task.ts";

const temp = useTempDirectory();

/** The sizes of the groups that were committed: a store tells its changes once per commit. */
function groupSizes(store: TaskStore): number[] {
  const sizes: number[] = [];
  store.subscribe((changes) => void sizes.push(changes.length));
  return sizes;
}

test("writes that are made together share a commit", async () => {
  const store = await temp.open();
  const sizes = groupSizes(store);
  await Promise.all(Array.from({ length: 100 }, (_, index) => store.write(createQueued(`${index}`))));
  expect(sizes).toEqual([100]);
});

test("writes that come while a commit runs form the next group", async () => {
  const store = await temp.open();
  const sizes = groupSizes(store);
  const writes = [store.write(createQueued("first"))];
  // The first group leaves with the microtasks; its answer cannot come before this turn of the loop has ended.
  for (let index = 0; index < 50; index++) {
    await Promise.resolve();
    writes.push(store.write(createQueued(`${index}`)));
  }
  await Promise.all(writes);
  const [first = 0, second = 0, ...more] = sizes;
  expect(first).toBeLessThan(10);
  expect(first + second).toBe(51);
  expect(more).toEqual([]);
});

test("a very long queue is cut into several commits, in order", async () => {
  const store = await temp.open();
  const sizes = groupSizes(store);
  await store.write(createRunning("a"));
  const step = {
    type: "record_step",
    now: noon,
    id: "task-a",
    token: "t1",
    value: "1",
    error: null,
  } as const;
  await Promise.all(Array.from({ length: 1500 }, (_, index) => store.write({ ...step, key: `${index}` })));
  expect(sizes).toEqual([1, 1000, 500]);
  const keys = (await wholeJournal(store, "task-a")).map(({ key }) => key);
  expect(keys).toEqual(Array.from({ length: 1500 }, (_, index) => `${index}`));
});

test("one commit for a group: an onlooker sees all of it or nothing", async () => {
  const store = await temp.open();
  const onlooker = new DatabaseSync(temp.path(), { readOnly: true });
  try {
    const version = () => onlooker.prepare("PRAGMA data_version").get()?.["data_version"];
    const count = onlooker.prepare("SELECT count(*) AS n FROM task");
    const before = Number(version());
    const writes = Promise.all(
      Array.from({ length: 20 }, (_, index) => store.write(createQueued(`${index}`))),
    );
    const counts = new Set<unknown>();
    let done = false;
    void writes.then(() => (done = true));
    while (!done) {
      counts.add(count.get()?.["n"]);
      await new Promise(setImmediate);
    }
    counts.add(count.get()?.["n"]);
    expect([...counts].filter((n) => n !== 0)).toEqual([20]);
    expect(Number(version())).toBe(before + 1);
  } finally {
    onlooker.close();
  }
});

test("a command that SQLite refuses fails alone, and leaves nothing", async () => {
  const store = await temp.open();
  const sizes = groupSizes(store);
  // One is refused at its first row, and one at its second.
  using other = new DatabaseSync(temp.path());
  other.exec(`
    CREATE TRIGGER no_bad BEFORE INSERT ON task WHEN NEW.id = 'task-bad' BEGIN SELECT raise(ABORT, 'bad'); END;
    CREATE TRIGGER no_worse BEFORE INSERT ON request WHEN NEW.task_id = 'task-worse' BEGIN SELECT raise(ABORT, 'worse'); END`);
  const [first, second, third, fourth, fifth] = await Promise.allSettled([
    store.write(createQueued("before")),
    store.write(createQueued("bad")),
    store.write(createQueued("between")),
    store.write(createQueued("worse")),
    store.write(createQueued("after")),
  ]);
  for (const good of [first, third, fifth])
    expect(good).toMatchObject({ status: "fulfilled", value: { ok: true } });
  for (const failed of [second, fourth]) {
    expect(failed).toMatchObject({ status: "rejected", reason: { code: "store_refused" } });
  }
  expect(sizes).toEqual([3]);
  const ids = (await store.unfinished("", 10)).map(({ id }) => id);
  expect(ids).toEqual(["task-after", "task-before", "task-between"]);
  // Nothing of it is left that would stand in the way of another try.
  other.exec("DROP TRIGGER no_bad; DROP TRIGGER no_worse");
  expect(await store.write(createQueued("bad"))).toMatchObject({ ok: true, created: true });
  expect(await store.write(createQueued("worse"))).toMatchObject({ ok: true, created: true });
});

test("a command that cannot cross to the writer's thread fails alone", async () => {
  const store = await temp.open();
  const origin = { capabilities: { call: () => undefined } };
  const odd = { ...createQueued("odd"), request: { origin, arguments: "{}", prepared: null } };
  const results = await Promise.allSettled([
    store.write(odd),
    store.write(createQueued("a")),
    store.write(odd),
    store.write(createQueued("b")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected", "fulfilled"]);
  expect(results[0]).toMatchObject({ reason: { code: "invalid_params" } });
  await expect(Promise.all([store.write(odd), store.write(odd)])).rejects.toMatchObject({
    code: "invalid_params",
  });
  expect(await store.write(createQueued("c"))).toMatchObject({ ok: true });
  const last = store.write(odd);
  const closed = store.close();
  await expect(last).rejects.toMatchObject({ code: "invalid_params" });
  await closed;
});

test("commands of one group see each other, in order", async () => {
  const store = await temp.open();
  const results = await Promise.all([
    store.write(createQueued("a")),
    store.write({ type: "start", now: noon, id: "task-a", token: "t1" }),
    store.write({ type: "start", now: noon, id: "task-a", token: "t2" }),
    store.write({ type: "cancel", now: noon, id: "task-a" }),
  ]);
  expect(results).toMatchObject([
    { ok: true, task: { version: 1 } },
    { ok: true, task: { version: 2, token: "t1" } },
    { ok: false, reason: "state" },
    { ok: true, task: { version: 3, state: "cancelled" } },
  ]);
});

test("a read after an acknowledgement is never stale", async () => {
  const store = await temp.open();
  let stale = 0;
  const work = async (name: string): Promise<void> => {
    const id = `task-${name}`;
    await store.write(createRunning(name));
    for (let round = 0; round < 50; round++) {
      const changes = { statusMessage: `${round}` };
      const answer = await store.write({ type: "update", now: noon, id, token: "t1", changes });
      const seen = (await store.snapshot(id))?.task;
      if (!answer.ok || seen?.version !== answer.task.version || seen.statusMessage !== `${round}`) stale++;
    }
  };
  await Promise.all(Array.from({ length: 20 }, (_, index) => work(`${index}`)));
  expect(stale).toBe(0);
});

test("says how many commands were committed together, those that were refused included", async () => {
  const store = await temp.open();
  const sizes: number[] = [];
  store.onCommit?.((commands) => sizes.push(commands));
  await Promise.all([
    store.write(createQueued("a")),
    store.write(createQueued("a")),
    store.write(createQueued("b")),
  ]);
  await store.write(createQueued("c"));
  expect(sizes).toEqual([3, 1]);
});
