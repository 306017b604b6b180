import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { beginWrite, turnMs } from "../../../src/store/sqlite/statements.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

function connection(): DatabaseSync {
  const db = new DatabaseSync(temp.path(), { timeout: turnMs });
  onTestFinished(() => db.close());
  return db;
}

/** Writes all the time from a thread of its own: each transaction lasts 20 ms, and there are hardly pauses between them. */
const busyWriter = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  const db = new DatabaseSync(workerData, { timeout: 60_000 });
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; ; round++) {
    db.exec("BEGIN IMMEDIATE");
    if (round === 0) parentPort.postMessage("begun");
    Atomics.wait(sleeper, 0, 0, 20);
    db.exec("COMMIT");
    Atomics.wait(sleeper, 0, 0, 1);
  }`;

test("a writer gets its turn beside one that hardly pauses", async () => {
  const db = connection();
  const thread = new Worker(busyWriter, { eval: true, workerData: temp.path() });
  onTestFinished(async () => void (await thread.terminate()));
  await once(thread, "message");
  for (let turn = 0; turn < 5; turn++) {
    beginWrite(db, 20_000);
    expect(db.isTransaction).toBe(true);
    db.exec("COMMIT");
  }
});

test("it is refused as soon as its patience is over, and has begun nothing", () => {
  const [db, other] = [connection(), connection()];
  other.exec("BEGIN IMMEDIATE");
  const before = performance.now();
  expect(() => beginWrite(db, 100)).toThrow("database is locked");
  expect(performance.now() - before).toBeGreaterThanOrEqual(100);
  expect(() => beginWrite(db, 0)).toThrow("database is locked");
  expect(db.isTransaction).toBe(false);
  other.exec("COMMIT");
  beginWrite(db, 0);
  expect(db.isTransaction).toBe(true);
});

test("what fails for another reason is not tried again", () => {
  const db = connection();
  beginWrite(db, 0);
  expect(() => beginWrite(db, 3_600_000)).toThrow("within a transaction");
});
