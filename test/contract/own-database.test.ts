import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeOnTables, tablePort, type StoreTables } from "holdfast/store";
import { storeContract } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { loggedDatabase } from "../../examples/own-database/logged-database.ts";
import { createQueued } from "../../src/testing/sample-task.ts";

const owner = { id: "owner", handlers: [] };

async function place() {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-own-"));
  const log = join(folder, "tasks.log");
  return {
    log,
    store: () => storeOnTables(loggedDatabase(log)),
    remove: () => rm(folder, { recursive: true }),
  };
}

async function onePlace() {
  const one = await place();
  onTestFinished(one.remove);
  return one;
}

describe("a store on a database of one's own", () => {
  for (const { name, run } of storeContract({ durable: true, place })) test(name, run);
});

test("a database that was written for another version of the port is refused before it is opened", async () => {
  const { log } = await onePlace();
  const store = storeOnTables({ ...loggedDatabase(log), port: tablePort + 1 });
  await expect(store.open(owner)).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringContaining(`version ${tablePort + 1}`) as string,
  });
  await expect(readFile(log)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a database with tables of another version is refused, whether it says so or not", async () => {
  const { log, store } = await onePlace();
  const database = loggedDatabase(log);
  const older = async ({ version, script }: StoreTables) =>
    database.open({
      version: version + 1,
      script: script.replace(/user_version = \d+/, "user_version = 99"),
    });
  const unusable = { code: "store_unusable", message: expect.stringContaining("version 99") as string };
  await expect(storeOnTables({ ...database, open: older }).open(owner)).rejects.toMatchObject(unusable);
  await expect(store().open(owner)).rejects.toMatchObject({ code: "store_unusable" });
});

test("a database that another store has open is refused", async () => {
  const { store } = await onePlace();
  const first = store();
  await first.open(owner);
  await expect(store().open({ ...owner, id: "other" })).rejects.toMatchObject({ code: "store_unusable" });
  await first.close();
});

test("what a killed process was writing is gone, and everything before it is there", async () => {
  const { log, store } = await onePlace();
  const first = store();
  await first.open(owner);
  await first.write(createQueued("a"));
  await first.close();
  const whole = await readFile(log, "utf8");
  await appendFile(log, '[["INSERT INTO task');
  const second = store();
  await second.open({ ...owner, id: "second" });
  expect(await second.get("task-a")).toMatchObject({ state: "queued" });
  await second.write(createQueued("b"));
  await second.close();
  const lines = (await readFile(log, "utf8")).slice(whole.length);
  expect(lines).not.toContain('[["INSERT INTO task[');
  await writeFile(log, whole);
  const third = store();
  await third.open({ ...owner, id: "third" });
  expect(await third.get("task-b")).toBeUndefined();
  await third.close();
});
