import { writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileHandles } from "../../../src/client/handles/file-handles.ts";
import { storedCall, taskOf } from "./calls.ts";
import { folderForHandles } from "./folder.ts";

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

it("makes its folder when it is first written to, and lets nobody else read what is there", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.list();
  await expect(stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
  await store.keep(storedCall());
  await store.keep(storedCall({ key: "b", taskId: "t1" }));
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    expect((mode & 0o777).toString(8)).toBe(entry.isFile() ? "600" : "700");
  }
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect(await filesIn(folder)).toHaveLength(3);
});

it("leaves nothing behind of what was dropped", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall());
  await store.keep(storedCall({ taskId: "t1" }));
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  await store.dropTask(taskOf("t1"));
  expect(await filesIn(folder)).toEqual([]);
});

it("drops a task after all else of it, so that what a crash leaves can be found and dropped", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall({ taskId: "t1" }));
  const [entry = ""] = await readdir(join(folder, "tasks"));
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  const inTheWay = join(folder, "tasks", entry);
  await rm(inTheWay);
  await mkdir(inTheWay); // as if the process had died before it took the task away
  await expect(store.dropTask(taskOf("t1"))).rejects.toThrow();
  expect(await filesIn(folder)).toEqual([]);
});

it("takes the task's word where a crash left the call beside it, and drops both", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall({ taskId: "t1" }));
  await store.keep(storedCall()); // as if the process had died before it took the call away
  expect(await filesIn(folder)).toHaveLength(2);
  expect((await store.list()).calls).toMatchObject([{ taskId: "t1" }]);
  await store.dropTask(taskOf("t1"));
  expect(await filesIn(folder)).toEqual([]);
});

it("tells of entries that it cannot read, by their names, and gives all others", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall({ key: "whole" }));
  await store.keep(storedCall({ key: "whole task", taskId: "t1" }));
  const damages = {
    "cut.json": '{"format":1,"key":"a","ser',
    "empty.json": "",
    "list.json": "[]",
    "newer.json": JSON.stringify({ format: 2, ...storedCall() }),
    "less.json": JSON.stringify({ format: 1, ...storedCall(), args: undefined }),
    "wrong.json": JSON.stringify({ format: 1, ...storedCall(), taskId: 7 }),
    "round.json": JSON.stringify({ format: 1, ...storedCall(), round: { requestState: 7 } }),
  };
  for (const [name, text] of Object.entries(damages)) await writeFile(join(folder, "calls", name), text);
  await mkdir(join(folder, "tasks", "folder.json"));
  const { calls, damaged } = await store.list();
  expect(calls.map(({ key }) => key).toSorted()).toEqual(["whole", "whole task"]);
  const places = [
    ...Object.keys(damages).map((name) => join(folder, "calls", name)),
    join(folder, "tasks", "folder.json"),
  ];
  expect(damaged.map(({ name }) => name).toSorted()).toEqual(places.toSorted());
  for (const { error } of damaged) expect(error).toBeInstanceOf(Error);
});

it("rejects for an answer that cannot be read, and can be given another", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keepAnswer(taskOf("t1"), "approve", { action: "decline" });
  const [file = ""] = await filesIn(folder);
  await writeFile(file, "{");
  await expect(store.answer(taskOf("t1"), "approve")).rejects.toThrow(file);
  await store.keepAnswer(taskOf("t1"), "approve", { action: "accept" });
  expect(await store.answer(taskOf("t1"), "approve")).toEqual({ action: "accept" });
});

it("passes over what a write left whose process died, and takes it away when it is old", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall());
  const [young, old] = ["0", "1"].map((digit) =>
    join(folder, "calls", `.${digit}a2b3c4d-0000-4000-8000-000000000000.tmp`),
  );
  for (const file of [young, old]) await writeFile(file ?? "", '{"format":1');
  const longAgo = new Date("2026-01-01T00:00:00Z");
  await utimes(old ?? "", longAgo, longAgo);
  const { calls, damaged } = await store.list();
  expect(calls).toHaveLength(1);
  expect(damaged).toEqual([]);
  const files = await filesIn(folder);
  expect(files).toContain(young);
  expect(files).not.toContain(old);
});

it("rejects, and leaves no file behind, where it cannot write", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall());
  const before = await filesIn(folder);
  // What is asked for stands where its file belongs, which no process may overwrite.
  const [entry = ""] = before;
  await store.drop(storedCall());
  await mkdir(entry);
  await writeFile(join(entry, "inside"), "");
  await expect(store.keep(storedCall())).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/);
  expect(await filesIn(folder)).toEqual([join(entry, "inside")]);
});

it("lists three thousand calls", async () => {
  const folder = await folderForHandles();
  const store = fileHandles(folder);
  await store.keep(storedCall({ key: "0", startedAt: 0 }));
  const [file = ""] = await filesIn(folder);
  const text = await readFile(file, "utf8");
  const first = text.replace('"key":"0"', '"key":"KEY"').replace('"startedAt":0', '"startedAt":AT');
  for (let index = 1; index < 3_000; index++) {
    const copy = first.replace("KEY", String(index)).replace("AT", String(index));
    writeFileSync(join(folder, "calls", `${index}.json`), copy);
  }
  const { calls } = await store.list();
  expect(calls).toHaveLength(3_000);
  expect(calls.map(({ startedAt }) => startedAt)).toEqual(Array.from({ length: 3_000 }, (_, at) => at));
});
