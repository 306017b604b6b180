import { copyFile, mkdir, rename, rm, symlink, truncate } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { expect, onTestFinished, test, vi } from "vitest";
import { OpenFile } from "../../../src/store/sqlite/open-file.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { createQueued } from "../../../src/testing/sample-task.ts";
import { openInChild } from "./owner-child.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const isLost = {
  code: "store_lost",
  message: expect.stringContaining("moved, removed or replaced") as string,
};

const ways: Readonly<Record<string, (path: string) => Promise<void>>> = {
  removed: (path) => rm(path),
  "removed with its log": async (path) => {
    for (const end of ["", "-wal", "-shm"]) await rm(`${path}${end}`);
  },
  moved: (path) => rename(path, `${path}.old`),
  "replaced by a copy": async (path) => {
    await copyFile(path, `${path}.copy`);
    await rename(`${path}.copy`, path);
  },
  "replaced by a folder": async (path) => {
    await rm(path);
    await mkdir(path);
  },
};

test.each(Object.entries(ways))("a file that is %s is lost at the next renewal", async (_, change) => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  expect(await store.renew()).toMatchObject({ held: true });
  await change(temp.path());
  for (const _again of [1, 2])
    expect(await store.renew()).toMatchObject({ held: false, gone: [], others: 0, lost: isLost });
  await expect(store.write(createQueued("b"))).rejects.toMatchObject(isLost);
  expect(await store.get("task-a")).toBeDefined();
});

test("a path that shows another inode is not lost while it leads to the file", async () => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  const path = temp.path("mount");
  await symlink(temp.path("missing"), path);
  const file = new OpenFile(path);
  await rm(path);
  await symlink(temp.path(), path);
  const marks: string[] = [];
  const write = async (mark: string): Promise<void> => {
    marks.push(mark);
    using db = new DatabaseSync(temp.path());
    db.prepare("INSERT INTO change (owner, message) VALUES ('a', ?)").run(mark);
    db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  };
  expect(await file.isGone(write)).toBe(false);
  expect(await file.isGone(write)).toBe(false);
  expect(marks).toHaveLength(1); // the difference was confirmed once
  expect(await store.write(createQueued("b"))).toMatchObject({ ok: true });
  file.close();
});

test("a server without its file is not ready, and says why", async () => {
  const heard: unknown[] = [];
  const tasks = createTasks({
    store: sqliteStore(temp.path()),
    onError: (error) => void heard.push(error),
  });
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  const { url } = http;
  const ready = async (): Promise<number> => (await fetch(new URL("/readyz", url))).status;
  expect(await ready()).toBe(200);
  await rm(temp.path());
  await vi.waitFor(async () => expect(await ready()).toBe(503), { timeout: 20_000 });
  expect(heard[0]).toMatchObject(isLost);
});

test.each<[string, (path: string) => Promise<void>]>([
  ["removed", (path) => rm(path)],
  ["emptied", (path) => truncate(path)],
])("no database is created where a running process has one whose file was %s", async (_, change) => {
  await temp.open();
  await change(temp.path());
  await expect(sqliteStore(temp.path()).open(someOwner())).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining("Put the file back, or stop that process") as string,
  });
});

test("once that process has noticed, another can create a database", { timeout: 60_000 }, async () => {
  const store = await temp.open();
  await rm(temp.path());
  await store.renew();
  // Of another process: within one, SQLite takes the index of the old log for that of the new one.
  const next = await openInChild(temp.path());
  expect(await next.ask("queue a")).toMatchObject({ ok: true, created: true });
});
