import { execFile } from "node:child_process";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { readdir, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
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

test.skipIf(process.platform === "win32").each(["a copy of the database", "the backup itself"])(
  "where %s does not fit, the message names the backup, and not the store, and nothing is left",
  async (what) => {
    const store = await directory.open();
    await store.write(createQueued("a"));
    const [path, file] = [directory.path(), directory.path("tasks.backup")];
    const script = fileURLToPath(new URL("../limited-backup.ts", import.meta.url));
    const database = what === "the backup itself" ? "noise" : path;
    // 8 or 16 KiB, as the shell has it; what is beyond fails as on a full disk.
    const limited = ["-c", 'ulimit -f 16 && exec "$0" "$@"', process.execPath, script, database, file];
    const { stdout } = await promisify(execFile)("sh", limited);
    const { code, message } = JSON.parse(stdout) as { readonly code: string; readonly message: string };
    expect([code, message]).toEqual([
      "configuration",
      expect.stringContaining(`${file} cannot be written: `),
    ]);
    expect((await readdir(dirname(file))).filter((name) => name.includes("backup"))).toEqual([]);
  },
);
