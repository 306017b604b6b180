import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { dumpSqlite } from "../../../src/store/sqlite/dump-sqlite.ts";
import { createQueued, sampleRequest } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const directory = useTempDirectory();

const setup = { now: 0, since: undefined, signal: new AbortController().signal };

test("a dump that cannot be written leaves nothing", async () => {
  const store = await directory.open();
  await store.write(createQueued("a"));
  // A link to nowhere is no file, and cannot become one.
  const file = directory.path("tasks.dump");
  await symlink(directory.path("nowhere"), file);
  const before = await readdir(dirname(file));
  await expect(dumpSqlite(directory.path(), file, setup)).rejects.toMatchObject({ code: "configuration" });
  expect(await readdir(dirname(file))).toEqual(before);
});

test.skipIf(process.platform === "win32")(
  "where it does not fit, the message names the dump, and not the store, and nothing is left",
  async () => {
    const store = await directory.open();
    const request = { ...sampleRequest, arguments: JSON.stringify(randomBytes(100_000).toString("hex")) };
    await store.write({ ...createQueued("a"), request });
    const [path, file] = [directory.path(), directory.path("tasks.dump")];
    const script = fileURLToPath(new URL("../limited-dump.ts", import.meta.url));
    // 8 or 16 KiB, as the shell has it; what is beyond fails as on a full disk.
    const limited = ["-c", 'ulimit -f 16 && exec "$0" "$@"', process.execPath, script, path, file];
    const { stdout } = await promisify(execFile)("sh", limited);
    const { code, message } = JSON.parse(stdout) as { readonly code: string; readonly message: string };
    expect([code, message]).toEqual([
      "configuration",
      expect.stringContaining(`${file} cannot be written: `),
    ]);
    expect((await readdir(dirname(file))).filter((name) => name.includes("dump"))).toEqual([]);
  },
);

test("damage stays with its task: all others are dumped, and the damaged one is named", async () => {
  const store = await directory.open();
  for (const name of ["a", "b", "c"]) await store.write(createQueued(name));
  await store.close();
  const db = new DatabaseSync(directory.path());
  db.exec("UPDATE task SET attempts = 'x' WHERE id = 'task-b'");
  db.close();
  const made = await dumpSqlite(directory.path(), directory.path("tasks.dump"), setup);
  expect(made).toMatchObject({ tasks: 2, changed: 2, unreadable: ["task-b"] });
});
