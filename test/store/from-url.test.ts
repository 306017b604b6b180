import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix, relative, win32 } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { placeOfStore, storeFromUrl } from "../../src/store/from-url.ts";
import { postgresStore } from "../../src/store/postgres/postgres-store.ts";
import { createQueued, owner } from "../contract/sample-task.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-url-"));
});
afterEach(() => rm(directory, { recursive: true }));

test.each([
  ["an absolute path", (path: string) => `sqlite:${path}`],
  ["an absolute path behind an empty host", (path: string) => `sqlite://${path}`],
  ["a relative path", (path: string) => `sqlite:${relative(process.cwd(), path)}`],
])("sqlite: with %s", async (_, url) => {
  const path = join(directory, "a b%20c?d#e.db");
  const store = storeFromUrl(url(path));
  await store.open({ id: owner, handlers: [] });
  await store.write(createQueued("a"));
  await store.close();
  await access(path);
});

test.each([
  ["sqlite:///C:/data/tasks.db", "C:\\data\\tasks.db"],
  ["sqlite:C:\\data\\tasks.db", "C:\\data\\tasks.db"],
  ["C:/data/tasks.db", "C:\\data\\tasks.db"],
  ["sqlite:tasks.db", "D:\\work\\tasks.db"],
])("%j names a file on Windows", (store, path) => {
  const place = placeOfStore(store, (name) => win32.resolve("D:\\work", name), "win32");
  expect(place).toEqual({ kind: "sqlite", path });
});

test("a folder may have the name of a drive elsewhere", () => {
  const place = placeOfStore("sqlite:///C:/tasks.db", (name) => posix.resolve(name), "linux");
  expect(place).toEqual({ kind: "sqlite", path: "/C:/tasks.db" });
});

test("memory: keeps nothing on disk", async () => {
  const store = storeFromUrl("memory:");
  await store.open({ id: owner, handlers: [] });
  expect(await store.write(createQueued("a"))).toMatchObject({ ok: true });
  await store.close();
});

test.each([
  "",
  "tasks.db",
  "sqlite:",
  "sqlite://tasks.db",
  "postgres:tasks",
  "mysql://localhost/tasks",
  "memory:x",
  "MEMORY:",
])("%j names no store, and the message says what does", (url) => {
  expect(() => storeFromUrl(url)).toThrow(expect.objectContaining({ code: "store_url" }));
  expect(() => storeFromUrl(url)).toThrow(/sqlite:PATH.*memory:/);
});

test.each([
  "mysql://ann:secret@localhost/tasks",
  "postgres://ann:my/secret@localhost/tasks",
  "mysql://ann:my@secret@localhost/tasks",
  "mysql://localhost/tasks?password=secret",
])("a message repeats no password: %s", (url) => {
  expect(() => storeFromUrl(url)).toThrow(expect.objectContaining({ code: "store_url" }));
  expect(() => storeFromUrl(url)).not.toThrow("secret");
});

test("the folder of a socket takes the place of a host", async () => {
  const url = `postgres://ann:secret@/tasks?host=${directory}&schema=mine`;
  for (const store of [storeFromUrl(url), postgresStore(`postgres://ann@/tasks?host=${directory}`)])
    await expect(store.open({ id: owner, handlers: [] })).rejects.toThrow(`${directory}/.s.PGSQL`);
});
