import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { databasePath } from "../../../src/store/sqlite/open-file.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

/** The paths that this process syncs from now on until the test ends. */
function syncedPaths(): readonly string[] {
  const { openSync, fsyncSync } = fs;
  const opened = new Map<number, string>();
  const synced: string[] = [];
  fs.openSync = (path, ...rest) => {
    const descriptor = openSync(path, ...rest);
    opened.set(descriptor, String(path));
    return descriptor;
  };
  fs.fsyncSync = (descriptor) => {
    fsyncSync(descriptor);
    synced.push(opened.get(descriptor) ?? "?");
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { openSync, fsyncSync });
    syncBuiltinESMExports();
  });
  return synced;
}

test("directories that it makes survive a loss of power: those above them are synced", () => {
  const synced = syncedPaths();
  const path = temp.path("a/b/c/tasks.db");
  expect(databasePath(path)).toBe(path);
  const above = [temp.path("a/b"), temp.path("a"), dirname(temp.path("a"))];
  expect(synced).toEqual(process.platform === "win32" ? [] : above);
});

test("where nothing is made, nothing is synced", () => {
  const synced = syncedPaths();
  expect(databasePath(temp.path("tasks.db"))).toBe(temp.path("tasks.db"));
  expect(synced).toEqual([]);
});
