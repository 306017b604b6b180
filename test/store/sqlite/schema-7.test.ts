import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { useTempDirectory } from "./temp-directory.ts";
import { wholeJournal } from "../../../src/testing/whole-journal.ts";

const files = useTempDirectory();
const future = 8_000_000_000_000_000;

/** A file as the seventh schema left it: a sleep was done from its beginning. */
function writeSchema7(path: string): void {
  const db = new DatabaseSync(path);
  migrate(db, migrations.slice(0, 7));
  const insert = db.prepare(
    "INSERT INTO journal (task_id, key, kind, deadline_at, done_at) VALUES ('task-a', ?, ?, ?, ?)",
  );
  insert.run("slept", "sleep", 500, 100);
  insert.run("step", "step", null, 300);
  insert.run("sleeps", "sleep", future, 200);
  insert.run("open", "input", 400, null);
  insert.run("answered", "input", 900, 600);
  db.close();
}

test("in a file of the seventh schema a sleep has ended at its time, or it lasts", async () => {
  writeSchema7(files.path());
  const store = await files.open();
  const entries = (await wholeJournal(store, "task-a")).map(({ key, deadlineAt, doneAt, doneVersion }) => ({
    [key]: [deadlineAt, doneAt, doneVersion],
  }));
  expect(entries).toEqual([
    { slept: [500, 500, null] },
    { step: [null, 300, null] },
    { sleeps: [future, null, null] },
    { open: [400, null, null] },
    { answered: [900, 600, null] },
  ]);
});
