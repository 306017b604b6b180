import { expect, test } from "vitest";
import { reclaimGone } from "../../../src/testing/reclaim-gone.ts";
import { aHandler } from "../../../src/testing/sample-task.ts";
import { listedJournal } from "../../../src/testing/whole-journal.ts";
import { noon, queuedRecord, runningRecord } from "../../contract/sample-task.ts";
import { addGoneOwner, writeOlderSchema } from "./older-schema.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

const named = (id: string) => ({ id, wireId: id, sweepAt: null, attempts: [] });
const queued = queuedRecord({ ...named("queued"), owner: null });
const running = runningRecord({ ...named("running"), owner: "gone", journalled: true, openInputs: 1 });

/** A file as the sixteenth schema left it: of a process that was killed. */
function writeSchema16(path: string): void {
  writeOlderSchema(path, 16, [queued, running], (db) => {
    addGoneOwner(db);
    db.exec(`
      INSERT INTO journal (task_id, key, kind, value, done_at, done_version) VALUES ('running', 'done', 'step', '1', 5, 2);
      INSERT INTO journal (task_id, key, kind, error, deadline_at, tries) VALUES ('running', 'again', 'step', '{}', 9, 1);
      INSERT INTO journal (task_id, key, kind, method, request) VALUES ('running', 'q', 'input', 'roots/list', '{}');`);
  });
}

test("nothing is known of the attempts of tasks of the sixteenth schema, nor when entries of their journals began", async () => {
  writeSchema16(files.path());
  const store = await files.open();
  for (const task of [queued, running]) expect(await store.get(task.id)).toEqual(task);
  expect(await listedJournal(store, "running")).toMatchObject([
    { key: "done", begunAt: null, doneAt: 5 },
    { key: "again", begunAt: null, tries: 1 },
    { key: "q", begunAt: null },
  ]);
});

test("from now on they say so of what begins, and of nothing that began before", async () => {
  writeSchema16(files.path());
  const store = await files.open();
  await reclaimGone(store);
  expect(await store.get("running")).toMatchObject({ state: "queued", attempts: [] });
  await store.write({ type: "claim", now: noon, handlers: [aHandler], tokens: ["t1", "t1"] });
  const begun = { startedAt: noon, endedAt: null, end: null };
  expect(await store.get("queued")).toMatchObject({ attempts: [{ number: 1, ...begun }] });
  expect(await store.get("running")).toMatchObject({ attempts: [{ number: 2, ...begun }] });
  const step = {
    type: "record_step",
    now: noon,
    id: "running",
    token: "t1",
    value: "1",
    error: null,
  } as const;
  await store.write({ ...step, key: "again", begunAt: noon });
  await store.write({ ...step, key: "new", begunAt: noon });
  await store.write({
    type: "answer_inputs",
    now: noon,
    id: "running",
    answers: [{ key: "q", value: "{}" }],
  });
  expect(await listedJournal(store, "running")).toMatchObject([
    { key: "done" },
    { key: "again", begunAt: null, doneAt: noon },
    { key: "q", begunAt: null, doneAt: noon },
    { key: "new", begunAt: noon },
  ]);
});
