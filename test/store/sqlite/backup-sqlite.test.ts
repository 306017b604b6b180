import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { readdir, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { backupSqlite } from "../../../src/store/sqlite/backup-sqlite.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const directory = useTempDirectory();

/** Files that this process has open though they were removed. */
function removedButOpen(): readonly string[] {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // that of the folder itself
    }
  });
  return links.filter((link) => link.endsWith("/copy (deleted)"));
}

test.runIf(existsSync("/proc/self/fd"))(
  "a backup that cannot be written leaves nothing, and nothing open",
  async () => {
    const store = await directory.open();
    await store.write(createQueued("a"));
    // A link to nowhere is no file, and cannot become one.
    const file = directory.path("tasks.backup");
    await symlink(directory.path("nowhere"), file);
    const made = backupSqlite(directory.path(), file, { now: 0, signal: new AbortController().signal });
    await expect(made).rejects.toMatchObject({ code: "configuration" });
    expect((await readdir(dirname(file))).filter((name) => name.startsWith(".holdfast-backup"))).toEqual([]);
    expect(removedButOpen()).toEqual([]);
  },
);
