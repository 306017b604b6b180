import { mkdirSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { number } from "../../../src/store/sqlite/schema.ts";
import { lockOwner, OtherOwners, OwnerWrites } from "../../../src/store/sqlite/sqlite-owners.ts";
import { openWriterConnection } from "../../../src/store/sqlite/writer-connection.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import type { StoreChanges, TaskStore } from "../../../src/store/store.ts";
import { reclaimGone } from "../../../src/testing/sample-task.ts";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { openInChild } from "./owner-child.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

/** Resolves as soon as the store was told something of others after which `holds`. */
function toldThat(store: TaskStore, holds: (changes: StoreChanges) => unknown): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.subscribe((changes, by) => {
      if (by === "self") return;
      void Promise.resolve(holds(changes)).then((held) => {
        if (held === undefined || held === false) return;
        stop();
        resolve();
      });
    });
  });
}

const patiently = { timeout: 20_000 };

const names = (id: string) => (changes: StoreChanges) =>
  changes !== "gap" && changes.some((change) => change.id === id);

function loggedChanges(): number {
  const db = new DatabaseSync(temp.path(), { readOnly: true, timeout: 20_000 });
  try {
    return number(db, "SELECT count(*) FROM change");
  } finally {
    db.close();
  }
}

// Nobody renews in these tests, so that nothing but the stores themselves finds out.

test("what one process changes, another one is told of, in both directions", async () => {
  const store = await temp.open();
  const child = await openInChild(temp.path());
  const told = toldThat(store, names("task-b"));
  await child.ask("run a");
  await child.ask("queue b");
  await told;
  expect(await child.ask("listen")).toBe("listens");
  await store.write({ type: "cancel", now: noon, id: "task-a" });
  const heard: unknown[] = [];
  while (!JSON.stringify(heard).includes("task-a")) heard.push(JSON.parse(await child.line()));
  expect(heard.at(-1)).toEqual([{ id: "task-a", version: 2 }]);
  await child.end();
});

test("a process that was alone is told of what another one does as soon as that has opened the file", async () => {
  const store = await temp.open();
  await store.write(createRunning("a"));
  const told = toldThat(store, async () => (await store.get("task-b")) !== undefined);
  const child = await openInChild(temp.path());
  await child.ask("run b");
  await told;
  await child.end();
});

test("changes are logged while there is another owner, and not before or afterwards", async () => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  expect(loggedChanges()).toBe(0);
  const child = await openInChild(temp.path());
  await store.write(createQueued("b"));
  await child.ask("run c");
  expect(loggedChanges()).toBe(2);
  await child.end();
  await reclaimGone(store);
  const logged = loggedChanges();
  await store.write(createQueued("d"));
  expect(loggedChanges()).toBe(logged);
});

test.runIf(process.platform !== "win32")(
  "who was stopped while more was changed than is kept is told of a gap",
  async () => {
    const store = await temp.open();
    await store.write(createRunning("a"));
    const child = await openInChild(temp.path());
    await child.ask("listen");
    process.kill(child.pid, "SIGSTOP");
    const update = { type: "update", now: noon, id: "task-a", token: "t1" } as const;
    const changes = { statusMessage: "x" };
    await Promise.all(Array.from({ length: 10_500 }, () => store.write({ ...update, changes })));
    expect(loggedChanges()).toBe(10_000);
    process.kill(child.pid, "SIGCONT");
    expect(JSON.parse(await child.line())).toBe("gap");
    await store.write(createQueued("b"));
    expect(JSON.parse(await child.line())).toEqual([{ id: "task-b", version: 1 }]);
    await child.end();
  },
);

test("a process that is alone looks for nobody in between; one that is not does until it is again", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const store = await temp.open();
  await store.write(createQueued("a"));
  expect(vi.getTimerCount()).toBe(0);

  const other = await temp.open();
  await vi.waitUntil(() => vi.getTimerCount() === 2, patiently); // each looks for the other
  await other.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(vi.getTimerCount()).toBe(1); // somebody has to reclaim what the other one left
  await reclaimGone(store);
  await vi.waitUntil(() => vi.getTimerCount() === 0, patiently);
});

test("where the folder of locks cannot be watched, a renewal finds out who has come", () => {
  const [own, other] = [someOwner(), someOwner()];
  const db = openWriterConnection({
    path: temp.path(),
    busyTimeoutMs: 1,
    maxBytes: null,
    migrate: true,
  });
  onTestFinished(() => db.close());
  const statements = new Statements(db);
  const writes = new OwnerWrites(statements);
  writes.add(own);
  const told: unknown[] = [];
  const others = new OtherOwners(temp.path(), own.id, statements, (changes) => told.push(changes)); // there is no folder yet
  onTestFinished(() => others.close());
  expect(others.renew()).toEqual({ held: true, gone: [], others: 0 });
  mkdirSync(temp.path("tasks.db.owners"));
  const lock = lockOwner(temp.path(), other.id);
  writes.add(other);
  expect(others.renew()).toEqual({ held: true, gone: [], others: 1 });
  expect(told).toEqual([{ tasks: "gap", sessions: "gap" }]);
  lock.release();
  expect(others.renew()).toEqual({ held: true, gone: [other.id], others: 0 });
});
