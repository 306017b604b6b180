import { mkdir, symlink } from "node:fs/promises";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { runChild } from "./child.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const holdStore = new URL("./hold-store.ts", import.meta.url);
const writeForever = new URL("./write-forever.ts", import.meta.url);
const isLocked = { code: "store_locked" };

test("a second store in the same process is refused, and the first one stays its owner", async () => {
  const first = await temp.open();
  await expect(sqliteStore(temp.path()).open()).rejects.toMatchObject(isLocked);
  // A refused attempt must not have dropped the lock when it closed its own handles.
  await expect(sqliteStore(temp.path()).open()).rejects.toMatchObject(isLocked);
  expect(await first.write(createQueued("a"))).toMatchObject({ ok: true });
  const child = runChild(holdStore, [temp.path()]);
  await expect(child.line()).rejects.toThrow("store_locked");
});

test("a refused store can be opened once the owner is gone", async () => {
  const first = await temp.open();
  const second = sqliteStore(temp.path());
  await expect(second.open()).rejects.toMatchObject(isLocked);
  await first.close();
  await second.open();
  await second.close();
});

test("another process is refused with the owner's name, and takes over after its orderly end", async () => {
  const child = runChild(holdStore, [temp.path()]);
  expect(await child.line()).toBe("open");
  const problem: unknown = await sqliteStore(temp.path())
    .open()
    .catch((error: unknown) => error);
  expect(problem).toMatchObject(isLocked);
  const message = String(problem);
  expect(message).toContain(temp.path());
  expect(message).toContain(`process ${child.pid} on ${hostname()} since 20`);
  await child.end();
  await temp.open();
});

test("the owner that a second process is told of is the present one, not the one before", async () => {
  const child = runChild(holdStore, [temp.path()]);
  expect(await child.line()).toBe("open");
  await child.kill("SIGKILL");
  await temp.open();
  await expect(sqliteStore(temp.path()).open()).rejects.toThrow(`process ${process.pid} `);
});

test("a killed owner loses the file at once, and everything that it acknowledged is there", async () => {
  const child = runChild(writeForever, [temp.path()]);
  expect(await child.line()).toBe("open");
  const lines: string[] = [];
  while (lines.length < 100) lines.push(await child.line());
  await child.kill("SIGKILL");
  lines.push(...(await child.rest()));

  const store = await temp.open();
  for (const line of lines) {
    const [word, id = ""] = line.split(" ");
    expect(word).toBe("kept");
    expect(await store.snapshot(id)).toMatchObject({ task: { id } });
    expect(await store.request(id)).toBeDefined();
  }
});

test.runIf(process.platform !== "win32")("a stopped owner keeps the file", async () => {
  const child = runChild(holdStore, [temp.path()]);
  expect(await child.line()).toBe("open");
  process.kill(child.pid, "SIGSTOP");
  await expect(sqliteStore(temp.path()).open()).rejects.toMatchObject(isLocked);
  await child.kill("SIGKILL");
});

test("two symbolic links to one file have one owner", async () => {
  await symlink(temp.path("real.db"), temp.path("link.db"));
  await mkdir(temp.path("data"));
  await symlink(temp.path("data"), temp.path("alias"));
  await symlink("data/tasks.db", temp.path("relative.db"));

  // The first opens a file that its link leads to and that is not there yet.
  const first = await temp.open("link.db");
  await expect(sqliteStore(temp.path("real.db")).open()).rejects.toMatchObject(isLocked);
  await first.close();
  await temp.open("real.db");
  await expect(sqliteStore(temp.path("link.db")).open()).rejects.toMatchObject(isLocked);

  await temp.open("alias/tasks.db");
  await expect(sqliteStore(temp.path("data/tasks.db")).open()).rejects.toMatchObject(isLocked);
  await expect(sqliteStore(temp.path("relative.db")).open()).rejects.toMatchObject(isLocked);
});

test("two files in one directory have two owners", async () => {
  await temp.open("a.db");
  await temp.open("b.db");
});
