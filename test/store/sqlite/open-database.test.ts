import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrate, migrations, number } from "../../../src/store/sqlite/schema.ts";
import { Statements } from "../../../src/store/sqlite/statements.ts";
import { openDatabase, type OpenSettings } from "../../../src/store/sqlite/open-database.ts";
import { lockOwner, OwnerWrites, tryLock } from "../../../src/store/sqlite/sqlite-owners.ts";
import { openInChild } from "./owner-child.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const schema = migrations.length;
const impatient: Partial<OpenSettings> = { schema, looks: 3, pauseMs: 1 };
const newer = { ...impatient, schema: schema + 1 };
const newerAndPatient = { ...newer, looks: 100_000 };

/** Opens the file as the version with the next schema does; resolves with the schema that it found, and left. */
async function openNewer(settings: Partial<OpenSettings>): Promise<readonly [before: number, after: number]> {
  const { lock, joined } = await openDatabase(
    temp.path(),
    someOwner(),
    async () => {
      const db = new DatabaseSync(temp.path());
      try {
        const before = number(db, "PRAGMA user_version");
        migrate(db, [...migrations, "CREATE TABLE newer (a)"]);
        return [before, number(db, "PRAGMA user_version")] as const;
      } finally {
        db.close();
      }
    },
    settings,
  );
  lock.release();
  return joined;
}

/** Keeps everybody else from reading, for a moment. */
const holdsAlone = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  const db = new DatabaseSync(workerData);
  db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  parentPort.postMessage("held");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  db.close();`;

const toTheNext = [schema, schema + 1];

describe("a version with a newer schema", () => {
  test("fails while a process of an older one lives, with its name and what to do", async () => {
    const child = await openInChild(temp.path());
    const problem: unknown = await openNewer(newer).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: "store_locked" });
    const name = `an older version of Holdfast (process ${child.pid} on ${hostname()} since 20`;
    expect(String(problem)).toContain(`${temp.path()} is in use by ${name}`);
    expect(String(problem)).toContain("Stop the older one, or choose another file.");
    expect(await child.ask("run a")).toMatchObject({ ok: true });
    await child.end();
    expect(await openNewer(newer)).toEqual(toTheNext);
  });

  test.each(["SIGTERM", "SIGKILL"] as const)("waits until that ends, by %s too", async (signal) => {
    const child = await openInChild(temp.path());
    const opening = openNewer(newerAndPatient);
    await child.kill(signal);
    expect(await opening).toEqual(toTheNext);
  });

  test.runIf(process.platform !== "win32")("waits for one that is stopped, too", async () => {
    const child = await openInChild(temp.path());
    process.kill(child.pid, "SIGSTOP");
    await expect(openNewer(newer)).rejects.toThrow(`process ${child.pid} `);
    const opening = openNewer(newerAndPatient);
    process.kill(child.pid, "SIGCONT");
    await child.end();
    expect(await opening).toEqual(toTheNext);
  });

  test("keeps nobody of the older one from the file while it waits, and names all of them", async () => {
    const first = await openInChild(temp.path());
    const opening = openNewer(newerAndPatient);
    const second = await openInChild(temp.path());
    const problem = await openNewer(newer).catch(String);
    for (const { pid } of [first, second]) expect(problem).toContain(`process ${pid} on `);
    await first.end();
    expect(await second.ask("run a")).toMatchObject({ ok: true });
    await second.end();
    expect(await opening).toEqual(toTheNext);
  });

  test("does not wait for those that have ended and are not forgotten yet", async () => {
    await (await openInChild(temp.path())).kill("SIGKILL");
    await (await openInChild(temp.path())).end();
    expect(await openNewer({ ...newer, looks: 1 })).toEqual(toTheNext);
  });

  test("waits until it can find out who has it open", async () => {
    await (await temp.open()).close();
    const older = someOwner();
    const lock = lockOwner(temp.path(), older.id);
    onTestFinished(() => lock.release());
    const db = new DatabaseSync(temp.path());
    new OwnerWrites(new Statements(db)).add(older);
    db.close();
    const thread = new Worker(holdsAlone, { eval: true, workerData: temp.path() });
    await once(thread, "message");
    await expect(openNewer({ ...newer, looks: 1 })).rejects.toThrow(
      `older version of Holdfast (process ${process.pid} on`,
    );
    await thread.terminate();
  });

  test("leaves the file to others where it cannot find out who has it open", async () => {
    await (await temp.open()).close();
    const db = new DatabaseSync(temp.path());
    db.exec("ALTER TABLE owner RENAME TO gone");
    db.close();
    await expect(openNewer(newer)).rejects.toMatchObject({ code: "store_unusable" });
    expect(typeof tryLock(temp.path("tasks.db.lock"))).toBe("object");
  });
});

test("a process that does not come to the end of its opening is told of", async () => {
  await (await temp.open()).close();
  const held = tryLock(temp.path("tasks.db.lock"));
  if (typeof held === "string") throw new Error(held);
  const open = () => openDatabase(temp.path(), someOwner(), async () => undefined, impatient);
  await expect(open()).rejects.toThrow(
    /being opened by another process, which does not finish\. Stop that process/,
  );
  held.release();
  (await open()).lock.release();
});

test("an opening that fails leaves no lock", async () => {
  const fails = openDatabase(temp.path(), someOwner(), () => Promise.reject(new Error("no")), impatient);
  await expect(fails).rejects.toThrow("no");
  expect(await readdir(temp.path("tasks.db.owners"))).toEqual([]);
  expect(typeof tryLock(temp.path("tasks.db.lock"))).toBe("object");
});

test("many open one file at the same time", async () => {
  const stores = await Promise.all(Array.from({ length: 8 }, () => temp.open()));
  for (const store of stores) expect(await store.renew()).toEqual({ held: true, gone: [], others: 7 });
});
