import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { TaskRecord } from "../../../src/task/record.ts";
import { reclaimGone } from "../../../src/testing/reclaim-gone.ts";
import { aHandler } from "../../../src/testing/sample-task.ts";
import { noon, queuedRecord, runningRecord } from "../../contract/sample-task.ts";
import { writeOlderSchema } from "./older-schema.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

interface OldMessage {
  readonly taskId: string;
  readonly body: string;
  readonly bound: number;
}

/** A file as the tenth schema left it: of one process, which was killed. */
function writeSchema10(
  path: string,
  tasks: readonly TaskRecord[],
  messages: readonly OldMessage[] = [],
): void {
  writeOlderSchema(path, 10, tasks, (db) => {
    const put = db.prepare("INSERT INTO message (task_id, body, bound) VALUES (?, ?, ?)");
    for (const { taskId, body, bound } of messages) put.run(taskId, body, bound);
  });
}

const named = (id: string) => ({ id, wireId: id });
const queued = queuedRecord({ ...named("queued"), createdAt: noon - 5, sweepAt: null });
const running = runningRecord({ ...named("running"), sweepAt: null, attempts: [] });
const waiting = runningRecord({ ...named("waiting"), waiting: true, journalled: true, sweepAt: null });
const cancelled = queuedRecord({
  ...named("cancelled"),
  state: "cancelled",
  finishedAt: noon,
  sweepAt: null,
});
const settled = queuedRecord({
  ...named("settled"),
  state: "settled",
  finishedAt: noon,
  outcomeKind: "result",
  sweepAt: null,
});

test("what ran in a file of the tenth schema is given back by the first renewal, and what was queued is for anybody", async () => {
  writeSchema10(files.path(), [queued, running, waiting, cancelled, settled]);
  const store = await files.open();
  const nobodys = { owner: null, lane: null, runAfter: null };
  expect(await store.get("queued")).toEqual({ ...queued, owner: null, lane: "new", runAfter: noon - 5 });
  expect(await store.get("running")).toEqual({ ...running, owner: "before-owners", runAfter: null });
  expect(await store.get("cancelled")).toEqual({ ...cancelled, ...nobodys });
  expect(await store.get("settled")).toEqual({ ...settled, ...nobodys });
  expect(await store.hasClaimable([aHandler])).toBe(true);

  expect(await store.renew()).toEqual({ held: true, gone: ["before-owners"], others: 0 });
  await reclaimGone(store);
  expect(await store.get("running")).toMatchObject({
    state: "queued",
    owner: null,
    lane: "recovered",
    runAfter: noon,
    crashes: 1,
  });
  expect(await store.get("waiting")).toMatchObject({ state: "queued", owner: null, crashes: 0 });
  expect(await store.renew()).toEqual({ held: true, gone: [], others: 0 });
  const tokens = ["c1", "c2", "c3"];
  const claimed = await store.write({ type: "claim", now: noon, handlers: [aHandler], tokens });
  expect(claimed.tasks.map(({ id }) => id)).toEqual(["queued", "running", "waiting"]);
});

test("a message that was bound to the process goes with it, and no other one does", async () => {
  const messages = [
    { taskId: "queued", body: "to anybody", bound: 0 },
    { taskId: "queued", body: "to the process", bound: 1 },
    { taskId: "queued", body: "to anybody, too", bound: 0 },
  ];
  writeSchema10(files.path(), [queued], messages);
  const store = await files.open();
  expect(await store.messages?.take("queued", 1)).toEqual(["to anybody"]);
  await reclaimGone(store);
  expect(await store.messages?.take("queued", null)).toEqual(["to anybody, too"]);
  await store.close();
  const db = new DatabaseSync(files.path());
  expect(db.prepare("SELECT count(*) AS n FROM message").get()).toEqual({ n: 0 });
  db.close();
});

test("a process that left nothing is no owner that is gone", async () => {
  writeSchema10(files.path(), [queued, settled], [{ taskId: "queued", body: "to anybody", bound: 0 }]);
  const store = await files.open();
  expect(await store.renew()).toEqual({ held: true, gone: [], others: 0 });
});
