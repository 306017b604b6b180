import { copyFile, mkdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { fileHandles } from "../../../src/client/handles/file-handles.ts";
import { openPrivate } from "../../../src/runtime/private-database.ts";
import { storedCall, taskOf } from "./calls.ts";
import { folderForHandles as fileForHandles } from "./folder.ts";

const dayMs = 86_400_000;

it("makes its file when it is first written to, and lets nobody else read what is there", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  await store.list();
  await expect(stat(dirname(file))).rejects.toMatchObject({ code: "ENOENT" });
  await store.keep(storedCall());
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
});

it("leaves nothing behind of what was dropped", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  await store.keep(storedCall());
  await store.keep(storedCall({ taskId: "t1" }));
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  await store.dropTask(taskOf("t1"));
  using database = rows(file);
  expect(database.all("SELECT value FROM calls UNION ALL SELECT value FROM answers")).toEqual([]);
});

it("tells of entries that it cannot read, by their names, and gives all others", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  await store.keep(storedCall({ key: "whole" }));
  await store.keep(storedCall({ key: "whole task", taskId: "t1" }));
  const damages = {
    cut: '{"format":1,"key":"a","ser',
    empty: "",
    list: "[]",
    newer: JSON.stringify({ format: 2, ...storedCall() }),
    less: JSON.stringify({ format: 1, ...storedCall(), args: undefined }),
    wrong: JSON.stringify({ format: 1, ...storedCall(), taskId: 7 }),
    round: JSON.stringify({ format: 1, ...storedCall(), round: { requestState: 7 } }),
  };
  for (const key of Object.keys(damages)) await store.keep(storedCall({ key }));
  {
    using database = rows(file);
    for (const [key, text] of Object.entries(damages))
      database.all("UPDATE calls SET value = ? WHERE key = ?", text, JSON.stringify(key));
  }
  const { calls, damaged } = await store.list();
  expect(calls.map(({ key }) => key).toSorted()).toEqual(["whole", "whole task"]);
  expect(damaged).toHaveLength(Object.keys(damages).length);
  for (const key of Object.keys(damages))
    expect(damaged.some(({ name }) => name.includes(`"${key}"`) && name.includes(file))).toBe(true);
  for (const { error } of damaged) expect(error).toBeInstanceOf(Error);
});

it("rejects for an answer that cannot be read, and can be given another", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  {
    using database = rows(file);
    database.all("UPDATE answers SET value = '{'");
  }
  await expect(store.answer(taskOf("t1"), "approve")).rejects.toThrow(file);
  await store.keepAnswer(taskOf("t1"), "approve", { action: "accept" });
  expect(await store.answer(taskOf("t1"), "approve")).toEqual({ action: "accept" });
});

it("puts a file aside that is no database, after it has said so", async () => {
  const file = await fileForHandles();
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "not a database".repeat(100));
  const store = fileHandles(file);
  expect(await store.list()).toMatchObject({ calls: [], damaged: [{ name: file }] });
  await store.keep(storedCall());
  expect((await store.list()).calls).toHaveLength(1);
  expect(await readFile(`${file}.damaged`, "utf8")).toContain("not a database");
});

it("reads what was there before a write in whose middle a process crashed", async () => {
  const file = await fileForHandles();
  const running = await fileForHandles();
  await fileHandles(running).keep(storedCall());
  await mkdir(dirname(file), { recursive: true });
  {
    using database = rows(running);
    database.all("PRAGMA cache_size = 1"); // pages are written before the end
    database.all("BEGIN IMMEDIATE");
    for (let at = 0; at < 100; at++)
      database.all("INSERT INTO sessions (server, value) VALUES (?, ?)", String(at), "x".repeat(1_000));
    for (const suffix of ["", "-journal"]) await copyFile(`${running}${suffix}`, `${file}${suffix}`);
  }
  const store = fileHandles(file);
  expect((await store.list()).calls).toHaveLength(1);
  expect((await store.list()).calls).toHaveLength(1);
});

it("begins anew where its file was taken away", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  await store.keep(storedCall());
  await unlink(file);
  expect((await store.list()).calls).toEqual([]);
  await store.keep(storedCall({ key: "b" }));
  expect((await fileHandles(file).list()).calls).toMatchObject([{ key: "b" }]);
});

it("rejects where it cannot write, and says where", async () => {
  const file = await fileForHandles();
  await mkdir(file, { recursive: true });
  await expect(fileHandles(file).keep(storedCall())).rejects.toThrow(file);
});

it("keeps its file in a folder that was named", async () => {
  const folder = `${await fileForHandles()}-folder`.replace(".db", "");
  await fileHandles(folder).keep(storedCall());
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await fileHandles(`${folder}/handles.db`).list()).calls).toHaveLength(1);
});

it("rejects where its folder is none, also what only reads", async () => {
  const file = await fileForHandles();
  const below = `${file}/handles.db`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "");
  await expect(fileHandles(below).list()).rejects.toThrow("ENOTDIR");
  await expect(fileHandles(below).keep(storedCall())).rejects.toThrow("ENOTDIR");
});

it("removes a call a day after its task has expired, when another is made", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  await store.keep(storedCall({ key: "old", taskId: "t1", startedAt: 0, expiresAt: 10 }));
  await store.keep(storedCall({ key: "young", taskId: "t2", startedAt: 0, expiresAt: 10 + dayMs }));
  await store.keep(storedCall({ key: "kept", taskId: "t3", startedAt: 0 }));
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  await store.keep(storedCall({ key: "new", startedAt: 11 + dayMs }));
  const left = (await store.list()).calls.map(({ key }) => key);
  expect(left.toSorted()).toEqual(["kept", "new", "young"]);
  expect(await store.answer(taskOf("t1"), "approve")).toBeUndefined();
});

it("lists twenty thousand calls, in order", async () => {
  const file = await fileForHandles();
  const store = fileHandles(file);
  const all = Array.from({ length: 20_000 }, (_, at) => storedCall({ key: String(at), startedAt: at }));
  await Promise.all(all.toReversed().map(async (call) => store.keep(call)));
  const { calls } = await store.list();
  expect(calls).toHaveLength(20_000);
  expect(calls.every(({ startedAt }, at) => startedAt === at)).toBe(true);
});

/** The rows of the file, past the store. */
function rows(file: string) {
  const database = openPrivate(file, true);
  return {
    all: (sql: string, ...values: string[]) => database.prepare(sql).all(...values),
    [Symbol.dispose]: () => database.close(),
  };
}
