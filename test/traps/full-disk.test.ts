import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { bodyOf, text } from "../runtime/harness.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { RealRuntime, type RealHandler } from "./real-runtime.ts";

const temp = useTempDirectory();
const maxBytes = 2_100_000;
const parts = [0, 1, 2, 3, 4, 5, 6, 7];

/** Takes most of what the database may have; `drop` gives it back, as someone does who makes room on a disk. */
async function fill(): Promise<{ db: DatabaseSync; drop: () => void }> {
  await (await temp.open()).close(); // the tables first: the limit comes with the next opening
  const db = new DatabaseSync(temp.path(), { timeout: 5_000 });
  db.exec("CREATE TABLE filler AS SELECT zeroblob(1700000) AS bytes");
  return { db, drop: () => db.exec("DROP TABLE filler") };
}

/** Creates tasks with large arguments until the disk has no room for one more. */
async function createUntilRefused(process: RealRuntime): Promise<string[]> {
  for (const accepted: string[] = []; ;) {
    const id = await process.call("quick", { text: "x".repeat(100_000) }).catch((error: unknown) => error);
    if (typeof id === "string") accepted.push(id);
    else {
      expect(id).toMatchObject({ code: "store_failed" });
      return accepted;
    }
  }
}

test("handlers stand still on a full disk and go on when there is room, and what was acknowledged is there", async () => {
  const runs: string[] = [];
  const kept: string[] = [];
  const writes: RealHandler = async (_, task) => {
    for (const part of parts) {
      await task.step(`part ${part}`, () => {
        runs.push(`${task.id} part ${part}`);
        return "x".repeat(6_000);
      });
      kept.push(`${task.id} part ${part}`);
    }
    return text("written");
  };
  const { db, drop } = await fill();
  const store = sqliteStore(temp.path(), { maxBytes });
  const process = await RealRuntime.started(
    store,
    { writes, quick: () => text("quick") },
    { concurrency: 200 },
  );
  try {
    const writing = await Promise.all(Array.from({ length: 12 }, () => process.call("writes")));
    const quick = await createUntilRefused(process);
    await process.firstError; // an attempt heard it too

    // What an onlooker finds in the file is no less than what was acknowledged, and no task more.
    const acknowledged = [...kept];
    const entries = db.prepare("SELECT task_id || ' ' || key AS entry FROM journal").all();
    expect(entries.map(({ entry }) => entry)).toEqual(expect.arrayContaining(acknowledged));
    const tasks = db.prepare("SELECT id FROM task").all();
    expect(tasks.map(({ id }) => String(id)).toSorted()).toEqual([...writing, ...quick].toSorted());
    for (const id of writing) expect((await process.get(id)).outcome).toBeNull();

    drop();
    for (const id of writing) expect(bodyOf(await process.ended(id))).toEqual(text("written"));
    for (const id of quick) expect(bodyOf(await process.ended(id))).toEqual(text("quick"));
    // A result that found no room was kept in memory until it did: nothing ran twice.
    expect(runs.toSorted()).toEqual(
      writing.flatMap((id) => parts.map((part) => `${id} part ${part}`)).toSorted(),
    );
    expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  } finally {
    db.close();
    await process.runtime.stop();
  }
});
