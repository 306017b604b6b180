import { expect, test } from "vitest";
import { reclaimGone } from "../../../src/testing/reclaim-gone.ts";
import { aHandler } from "../../../src/testing/sample-task.ts";
import { noon, queuedRecord, runningRecord } from "../../contract/sample-task.ts";
import { addGoneOwner, writeOlderSchema } from "./older-schema.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

const named = (id: string) => ({ id, wireId: id, sweepAt: null });
const anybodys = { owner: null, runAfter: noon };
const fresh = queuedRecord({ ...named("fresh"), ...anybodys });
const crashed = queuedRecord({ ...named("crashed"), ...anybodys, attempt: 1, crashes: 1 });
const pausing = queuedRecord({
  ...named("pausing"),
  owner: null,
  runAfter: noon + 9,
  attempt: 2,
  crashes: 2,
});
const works = runningRecord({ ...named("works"), owner: "gone", attempts: [] });
/** It has slept, and asks for something. */
const waits = runningRecord({
  ...named("waits"),
  owner: "gone",
  waiting: true,
  journalled: true,
  openInputs: 1,
  attempts: [],
  crashes: 1,
});
const ended = { state: "settled", finishedAt: noon, outcomeKind: "result", runAfter: null } as const;
const settled = queuedRecord({ ...named("settled"), ...ended, owner: null });
const tasks = [fresh, crashed, pausing, works, waits, settled];

/** A file as the twelfth schema left it: of a process that was killed. */
function writeSchema12(path: string): void {
  writeOlderSchema(path, 12, tasks, (db) => {
    addGoneOwner(db);
    db.exec(
      "INSERT INTO journal (task_id, key, kind, method, request) VALUES ('waits', 'q', 'input', 'roots/list', '{}')",
    );
  });
}

test("in a file of the twelfth schema what is queued stands in a lane, and what pauses after crashes waits", async () => {
  writeSchema12(files.path());
  const store = await files.open();
  expect(await store.get("fresh")).toEqual({ ...fresh, lane: "new" });
  expect(await store.get("crashed")).toEqual({ ...crashed, lane: "recovered" });
  expect(await store.get("pausing")).toEqual({ ...pausing, lane: null });
  for (const task of [works, waits, settled]) {
    expect(await store.get(task.id)).toEqual({ ...task, lane: null, runAfter: null });
  }

  const claim = { type: "claim", handlers: [aHandler], tokens: ["c1", "c2", "c3"] } as const;
  const claimed = await store.write({ ...claim, now: noon });
  expect(claimed.tasks.map(({ id }) => id)).toEqual(["fresh", "crashed"]);
  expect(await store.nextSweepAt(noon)).toBe(noon + 9);
  expect(await store.write({ type: "wake", now: noon + 8, limit: 9 })).toMatchObject({ woken: 0 });
  expect(await store.write({ type: "wake", now: noon + 9, limit: 9 })).toMatchObject({ woken: 1 });
  expect(await store.write({ ...claim, now: noon + 9 })).toMatchObject({ tasks: [{ id: "pausing" }] });
});

test("what ran in a file of the twelfth schema is run again, whether it waited or not, and waiting was no crash", async () => {
  writeSchema12(files.path());
  const store = await files.open();
  await reclaimGone(store);
  const ready = { state: "queued", owner: null, waiting: false, lane: "recovered", runAfter: noon };
  expect(await store.get("works")).toMatchObject({ ...ready, crashes: 1 });
  expect(await store.get("waits")).toMatchObject({ ...ready, crashes: 1, openInputs: 1 });
  const answer = {
    type: "answer_inputs",
    now: noon,
    id: "waits",
    answers: [{ key: "q", value: "1" }],
  } as const;
  expect(await store.write(answer)).toMatchObject({ accepted: ["q"], task: ready });
});
