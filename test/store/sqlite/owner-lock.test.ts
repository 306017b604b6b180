import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  isLocked,
  lockOwner,
  ownersFolder,
  removeLockFilesBut,
  tryLock,
} from "../../../src/store/sqlite/sqlite-owners.ts";
import { runChild } from "./child.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const lockFile = (owner: string) => join(ownersFolder(temp.path()), owner);
const isUnusable = expect.objectContaining({ code: "store_unusable" });

test("an owner's lock is seen until it is released, and its file is the only trace of it", async () => {
  const lock = lockOwner(temp.path(), "a");
  // To look drops no lock, though it opens and closes the file in the process that holds it.
  for (let look = 0; look < 3; look++) expect(isLocked(temp.path(), "a")).toBe(true);
  expect(await readdir(ownersFolder(temp.path()))).toEqual(["a"]);
  lock.release();
  expect(isLocked(temp.path(), "a")).toBe(false);
  expect(await readdir(ownersFolder(temp.path()))).toEqual([]);
  lock.release();
});

test("an owner that never was, or cannot be, has no lock", () => {
  expect(isLocked(temp.path(), "a")).toBe(false);
  lockOwner(temp.path(), "a").release();
  for (const id of ["b", "..", "a/b", ""]) expect(isLocked(temp.path(), id)).toBe(false);
});

test("an id that is no file name, or that another owner has, is refused", () => {
  for (const id of ["", "..", "a/b", "a".repeat(65)]) {
    expect(() => lockOwner(temp.path(), id)).toThrow(expect.objectContaining({ code: "configuration" }));
  }
  const lock = lockOwner(temp.path(), "a");
  expect(() => lockOwner(temp.path(), "a")).toThrow(isUnusable);
  expect(isLocked(temp.path(), "a")).toBe(true);
  lock.release();
});

test("a lock whose file was deleted is none", async () => {
  const lock = lockOwner(temp.path(), "a");
  await rm(lockFile("a"));
  expect(isLocked(temp.path(), "a")).toBe(false);
  lock.release();
});

test("a lock file that cannot be opened is no sign that its owner is gone", async () => {
  await mkdir(lockFile("a"), { recursive: true });
  expect(() => isLocked(temp.path(), "a")).toThrow(isUnusable);
  expect(() => tryLock(lockFile("a"))).toThrow(isUnusable);
});

test.runIf(process.platform !== "win32")("who can open no more files takes nobody for dead", async () => {
  await temp.open();
  const few = (command: readonly string[]) => ["sh", "-c", 'ulimit -n 80 && exec "$@"', "sh", ...command];
  const child = runChild(new URL("./exhausted-process.ts", import.meta.url), [temp.path()], few);
  expect(await child.rest()).toEqual(["store_unusable", '{"held":true,"gone":[],"others":1}']);
});

test("what is left of processes that never became owners is removed", async () => {
  // One that lives may become an owner yet.
  const locks = ["b", "d"].map((id) => lockOwner(temp.path(), id));
  for (const left of ["a", "c"]) await writeFile(lockFile(left), "");
  removeLockFilesBut(temp.path(), new Set(["b"]));
  expect(await readdir(ownersFolder(temp.path()))).toEqual(["b", "d"]);
  for (const id of ["b", "d"]) expect(isLocked(temp.path(), id)).toBe(true);
  for (const lock of locks) lock.release();
});
