import { expect, test } from "vitest";
import { reclaimGone } from "../../../src/testing/reclaim-gone.ts";
import { callTool, settleAs, startTask } from "../../../src/testing/sample-call.ts";
import { aHandler } from "../../../src/testing/sample-task.ts";
import { wholeJournal } from "../../../src/testing/whole-journal.ts";
import { createQueued, noon, queuedRecord, runningRecord } from "../../contract/sample-task.ts";
import { addGoneOwner, writeOlderSchema } from "./older-schema.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

const named = (id: string) => ({ id, wireId: id, sweepAt: null });
const queued = queuedRecord({ ...named("queued"), owner: null });
const running = runningRecord({
  ...named("running"),
  owner: "gone",
  journalled: true,
  openInputs: 1,
  attempts: [],
});
const ended = {
  state: "settled",
  finishedAt: noon,
  outcomeKind: "result",
  lane: null,
  runAfter: null,
} as const;
const settled = queuedRecord({ ...named("settled"), ...ended, owner: null });
const tasks = [queued, running, settled];

/** A file as the fourteenth schema left it: of a process that was killed. */
function writeSchema14(path: string): void {
  writeOlderSchema(path, 14, tasks, (db) => {
    addGoneOwner(db);
    db.exec(`
      INSERT INTO journal (task_id, key, kind, value, done_at, done_version) VALUES ('running', 'done', 'step', '1', 5, 2);
      INSERT INTO journal (task_id, key, kind, error, done_at, done_version) VALUES ('running', 'failed', 'step', '{}', 6, 3);
      INSERT INTO journal (task_id, key, kind, method, request) VALUES ('running', 'q', 'input', 'roots/list', '{}');
      INSERT INTO outcome (task_id, kind, body) VALUES ('settled', 'result', '{}');`);
  });
}

test("tasks of the fourteenth schema have made no others, have not failed, and began under no version", async () => {
  writeSchema14(files.path());
  const store = await files.open();
  for (const task of tasks) expect(await store.get(task.id)).toEqual(task);
  expect(await wholeJournal(store, "running")).toMatchObject([
    { key: "done", value: "1", tries: 0 },
    { key: "failed", error: "{}", tries: 0 },
    { key: "q", doneAt: null, tries: 0 },
  ]);
  expect(await store.snapshot("running")).toMatchObject({ inputs: [{ key: "q" }] });
  expect(await store.snapshot("settled")).toMatchObject({ outcome: { body: "{}" } });
});

test("they do from now on what others do, and count for their principals as before", async () => {
  writeSchema14(files.path());
  const store = await files.open();
  await reclaimGone(store);
  const handlers = [{ ...aHandler, version: 3 }];
  const claim = { type: "claim", now: noon, handlers, tokens: ["t1", "t1"] } as const;
  expect((await store.write(claim)).tasks).toMatchObject([
    { id: "queued", toolVersion: 3 },
    { id: "running", toolVersion: null },
  ]);
  const held = { now: noon, id: "running", token: "t1" };
  await store.write({ ...callTool("a", "child"), id: "running" });
  await store.write({ ...startTask("child"), now: noon });
  expect(await store.get("running")).toMatchObject({ openInputs: 1, openWaits: 1 });
  await store.write(settleAs("child", "7"));
  expect(await store.journalEntry("running", "call-child")).toMatchObject({ value: "7" });
  await store.write({ ...held, type: "retry", until: noon, statusMessage: "failed" });
  const left = await wholeJournal(store, "running");
  expect(left.map(({ key }) => key)).toEqual(["done", "q", "call-child"]);

  const of = (unfinished: number, retained: number) => ({ unfinished, retained });
  const any = { unfinished: null, retained: null };
  const fits = async (name: string, perPrincipal: ReturnType<typeof of>) =>
    (await store.write({ ...createQueued(name), quota: { perPrincipal, total: any } })).ok;
  expect(await fits("x", of(2, 9))).toBe(false);
  expect(await fits("x", of(3, 3))).toBe(false);
  await store.write({ type: "cancel", now: noon, id: "running" });
  await store.write({ type: "delete", now: noon, id: "settled" });
  expect(await fits("x", of(2, 3))).toBe(true);
});
