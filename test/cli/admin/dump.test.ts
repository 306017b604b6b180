import { randomBytes } from "node:crypto";
import { watch } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rename, stat, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { folderBlobs } from "../../../src/runtime/blobs/artifact-blobs.ts";
import type { Registry } from "../../../src/runtime/tool/registry.ts";
import { runChild } from "../../store/sqlite/child.ts";
import { openInChild } from "../../store/sqlite/owner-child.ts";
import { createQueued, sampleRequest } from "../../contract/sample-task.ts";
import { someOwner } from "../../store/sqlite/some-owner.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { folder, startHoldfast } from "../run-cli.ts";
import { runMain } from "../run-main.ts";
import { admin, adminJson, call, serve, somePlace, type Place } from "./some-place.ts";

const works = (tools: Registry): void => void tools.add("work", {}, () => ({ content: [] }));

/** A store at another path of the same folder. */
function beside({ cwd }: Place, name: string): { readonly url: string; readonly cwd: string } {
  return { url: `sqlite:${join(cwd, name)}`, cwd };
}

async function run(
  place: { readonly url: string; readonly cwd: string },
  ...words: readonly string[]
): Promise<readonly [number | null, string]> {
  const { code, stdout, stderr } = await runMain(["admin", place.url, ...words], { cwd: place.cwd });
  return [code, stdout + stderr];
}

it("dumps a store while its server goes on, and makes another store of that", async () => {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, works);
  const first = await call(runtime, "work");
  await expect.poll(() => adminJson(place, "show", first)).toMatchObject({ state: "completed" });
  const said = await admin(place, "dump", "tasks.dump");
  expect(said).toMatch(/^dumped 1 task to tasks\.dump: [\d.]+ KiB, [\d.]+s\n$/);
  const file = join(place.cwd, "tasks.dump");
  const { mode, size } = await stat(file);
  expect(mode & 0o777).toBe(0o600);
  expect(await adminJson(place, "dump", "second.dump")).toEqual({
    file: join(place.cwd, "second.dump"),
    tasks: 1,
    changed: 1,
    unreadable: [],
    withoutFiles: 0,
    bytes: expect.closeTo(size, -3),
    seconds: expect.any(Number),
  });
  await call(runtime, "work");
  await runtime.stop();

  const copy = beside(place, "copy/tasks.db");
  const [code, restored] = await run(copy, "load", "tasks.dump");
  expect([code, restored]).toEqual([0, expect.stringMatching(/^loaded 1 task as of \d{4}-.*Z\n$/)]);
  expect((await stat(join(place.cwd, "copy/tasks.db"))).mode & 0o777).toBe(0o600);
  const shown = await run(copy, "show", first, "--json");
  expect(JSON.parse(shown[1])).toMatchObject({ id: first, state: "completed" });
  expect(JSON.parse((await run(copy, "list", "--json"))[1])).toMatchObject({ tasks: [{ id: first }] });
  expect((await readdir(place.cwd)).filter((name) => name.startsWith("."))).toEqual([]);
});

it("takes along the files that tasks keep in a folder", async () => {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, works);
  const id = await call(runtime, "work");
  await expect.poll(() => adminJson(place, "show", id)).toMatchObject({ state: "completed" });
  await runtime.stop();
  const names = [
    join("0a", id, "0b.0"),
    join("0a", id, "0b.1"),
    join("0a", id, ".half.tmp"),
    join("0a", "other", "0c.0"),
  ];
  for (const name of names) {
    await mkdir(join(place.cwd, "files", dirname(name)), { recursive: true });
    await writeFile(join(place.cwd, "files", name), `bytes of ${name}`);
  }
  await admin(place, "dump", "tasks.dump", "--blobs", "files");
  const copy = beside(place, "copy/tasks.db");
  expect(await run(copy, "load", "tasks.dump")).toEqual([2, expect.stringContaining("--blobs FOLDER")]);
  expect((await run(copy, "load", "tasks.dump", "--blobs", "restored"))[0]).toBe(0);
  const restored = await readdir(join(place.cwd, "restored", "0a"), { recursive: true });
  expect(restored.toSorted()).toEqual([id, join(id, "0b.0"), join(id, "0b.1")]);
  const file = join(place.cwd, "restored", "0a", id, "0b.1");
  expect(await readFile(file, "utf8")).toBe(`bytes of ${names[1] ?? ""}`);
});

it("says which files are missing in a dump, and refuses a bucket", async () => {
  const place = await somePlace("SQLite");
  const makes = (tools: Registry): void => {
    tools.add("make", {}, async (_, task) => ({ content: [await task.artifact("data.bin", "bytes")] }));
    works(tools);
  };
  const runtime = await serve(place, makes, { blobs: folderBlobs(join(place.cwd, "files")) });
  const ids = [await call(runtime, "make"), await call(runtime, "make"), await call(runtime, "work")];
  for (const id of ids)
    await expect.poll(() => adminJson(place, "show", id)).toMatchObject({ state: "completed" });
  await runtime.stop();
  const [code, said] = await run(place, "dump", "without.dump");
  expect([code, said]).toEqual([
    0,
    expect.stringContaining("Files of 2 tasks are kept outside of the store"),
  ]);
  const elsewhere = await run(place, "dump", "elsewhere.dump", "--blobs", "other");
  expect(elsewhere).toEqual([0, expect.stringContaining("that are not in other, and are not in the dump")]);
  expect((await run(place, "dump", "with.dump", "--blobs", "files"))[1]).not.toContain("outside");
  const env = { HOLDFAST_BLOBS: "files" };
  const named = await runMain(["admin", place.url, "dump", "named.dump", "--json"], { cwd: place.cwd, env });
  expect(JSON.parse(named.stdout)).toMatchObject({ withoutFiles: 0 });
  const bucket = await run(place, "dump", "bucket.dump", "--blobs", "s3://files");
  expect(bucket).toEqual([2, expect.stringContaining("Copy a bucket with its own tools")]);
});

it("has what several writers were told before it began, and none of their writes fails", async () => {
  const { cwd, url } = await somePlace("SQLite");
  const program = new URL("../../store/sqlite/write-forever.ts", import.meta.url);
  const writers = [1, 2, 3].map(() => runChild(program, [join(cwd, "tasks.db")]));
  onTestFinished(async () => void (await Promise.all(writers.map((writer) => writer.kill("SIGKILL")))));
  for (const writer of writers) expect(await writer.line()).toBe("open");
  const told = await Promise.all(
    writers.map(async (writer) => Promise.all(Array.from({ length: 100 }, () => writer.line()))),
  );
  // Those of several writers have the same names: the later one of a name was told that it is there.
  expect(await run({ url, cwd }, "dump", "tasks.dump")).toEqual([0, expect.any(String)]);
  for (const writer of writers) expect(await writer.line()).toMatch(/^(kept|lost)/);
  await Promise.all(writers.map((writer) => writer.kill("SIGKILL")));
  const copy = { url: `sqlite:${join(cwd, "copy.db")}`, cwd };
  expect(await run(copy, "load", "tasks.dump")).toEqual([0, expect.any(String)]);
  const kept = new Set(told.flat().flatMap((line) => /^kept (\S+)$/.exec(line)?.[1] ?? []));
  expect(kept.size).toBeGreaterThan(30);
  const { tasks } = JSON.parse((await run(copy, "list", "--json", "--limit", "100000"))[1]) as {
    readonly tasks: readonly { readonly id: string }[];
  };
  expect([...kept].filter((id) => !tasks.some((task) => task.id === id))).toEqual([]);
});

it("is not opened while others have the original open, and afterwards like any other", async () => {
  const place = await somePlace("SQLite");
  const server = await openInChild(join(place.cwd, "tasks.db"));
  await server.ask("run task");
  await admin(place, "dump", "tasks.dump");
  const [copy, twin] = [beside(place, "copy.db"), beside(place, "twin.db")];
  await run(copy, "load", "tasks.dump");
  await run(twin, "load", "tasks.dump", "--beside");
  const [code, refusal] = await run(copy, "list");
  expect([code, refusal]).toEqual([
    6,
    expect.stringMatching(
      new RegExp(
        `copy\\.db was loaded from a dump of .*/tasks\\.db, which is in use by process ${server.pid} on .*--beside`,
      ),
    ),
  ]);
  expect(await run(copy, "list")).toEqual([code, refusal]);
  expect(await run(twin, "list")).toEqual([0, expect.stringContaining("running")]);
  await server.kill("SIGKILL");
  expect(await run(copy, "list")).toEqual([0, expect.stringContaining("running")]);
  // Nor is the mark there any more.
  const again = await openInChild(join(place.cwd, "tasks.db"));
  expect(await run(copy, "list")).toEqual([0, expect.stringContaining("running")]);
  await again.end();
});

it("gives what ran at the time of the dump to a server of the loaded store, as after a crash", async () => {
  const place = await somePlace("SQLite");
  const forever = Promise.withResolvers<void>();
  const runtime = await serve(place, (tools) =>
    tools.add("work", {}, async () => {
      await forever.promise;
      return { content: [] };
    }),
  );
  const task = await call(runtime, "work");
  await expect.poll(() => adminJson(place, "show", task)).toMatchObject({ state: "running" });
  await admin(place, "dump", "tasks.dump");
  forever.resolve();
  await runtime.stop();
  const copy = { ...(await somePlace("SQLite")), cwd: place.cwd };
  await run(copy, "load", "tasks.dump");
  await serve(copy, (tools) =>
    tools.add("work", { annotations: { idempotentHint: true } }, () => ({
      content: [{ type: "text", text: "again" }],
    })),
  );
  await expect
    .poll(() => adminJson(copy, "show", task), { timeout: 20_000 })
    .toMatchObject({
      attempt: 2,
      outcome: { body: { content: [{ text: "again" }] } },
    });
});

it("refuses a dump that was cut or changed, and what is none, with the line, and leaves nothing behind", async () => {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, works);
  for (let calls = 0; calls < 20; calls++) await call(runtime, "work");
  await runtime.stop();
  await admin(place, "dump", "whole");
  const at = (name: string): string => join(place.cwd, name);
  const whole = await readFile(at("whole"));
  for (const keep of [0, 40, 500, whole.length - 200, whole.length - 1]) {
    await copyFile(at("whole"), at("bad"));
    await truncate(at("bad"), keep);
    const [code, text] = await run(beside(place, "copy.db"), "load", "bad");
    expect([keep, code, text]).toEqual([
      keep,
      6,
      expect.stringMatching(
        /bad (was cut at line \d+: |is damaged at line \d+: |is not a dump of a store.* line 1 )/,
      ),
    ]);
  }
  for (const at_ of [12, 400, whole.length / 2, whole.length - 30].map(Math.floor)) {
    const changed = Buffer.from(whole);
    changed[at_] = (changed[at_] ?? 0) ^ 1;
    await writeFile(at("bad"), changed);
    const [code, text] = await run(beside(place, "copy.db"), "load", "bad");
    expect([at_, code, text]).toEqual([
      at_,
      6,
      expect.stringMatching(
        /bad (was cut at line \d+: |is damaged at line \d+: |is not a dump of a store.* line 1 )/,
      ),
    ]);
  }
  expect(await run(beside(place, "copy.db"), "load", "tasks.db")).toEqual([
    6,
    expect.stringContaining("is not a dump of a store"),
  ]);
  expect(await run(beside(place, "copy.db"), "load", "missing")).toEqual([
    2,
    expect.stringContaining("ENOENT"),
  ]);
  expect((await readdir(place.cwd)).filter((name) => name.startsWith("copy"))).toEqual([]);
});

it("overwrites nothing", async () => {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, works);
  await call(runtime, "work");
  await writeFile(join(place.cwd, "taken"), "mine");
  expect(await run(place, "dump", "taken")).toEqual([2, expect.stringContaining("already exists")]);
  expect(await readFile(join(place.cwd, "taken"), "utf8")).toBe("mine");
  expect(await run(place, "dump", "no/folder")).toEqual([2, expect.stringContaining("cannot be written")]);
  await admin(place, "dump", "tasks.dump");
  expect(await run(place, "load", "tasks.dump")).toEqual([
    6,
    expect.stringContaining("is open in another process"),
  ]);
  // The server goes on with the file that was moved.
  await mkdir(join(place.cwd, "old"));
  for (const end of ["", "-wal", "-shm"])
    await rename(join(place.cwd, `tasks.db${end}`), join(place.cwd, `old/tasks.db${end}`));
  expect(await run(place, "load", "tasks.dump")).toEqual([
    6,
    expect.stringContaining("while another process has it open"),
  ]);
  await runtime.stop().catch(() => undefined);
});

it("leaves nothing behind when it is interrupted", { timeout: 60_000 }, async () => {
  const { cwd, url } = await somePlace("SQLite");
  const store = sqliteStore(join(cwd, "tasks.db"));
  await store.open(someOwner());
  const request = {
    ...sampleRequest,
    arguments: JSON.stringify({ text: randomBytes(500_000).toString("hex") }),
  };
  for (let n = 0; n < 60; n++) await store.write({ ...createQueued(String(n)), request });
  await store.close();
  const before = await readdir(cwd);
  const begun = Promise.withResolvers<void>();
  const watcher = watch(cwd, (_event, name) => {
    if (name === "tasks.dump") begun.resolve();
  });
  onTestFinished(() => watcher.close());
  const command = startHoldfast(["admin", url, "dump", "tasks.dump"], { cwd });
  await begun.promise;
  command.kill("SIGTERM");
  expect(await command.ended).toMatchObject({
    code: 143,
    stderr: expect.stringContaining("no dump was made"),
  });
  expect(await readdir(cwd)).toEqual(before);
});

it("says where it cannot be done", async () => {
  const cwd = await folder();
  expect(await run({ url: "https://host/admin", cwd }, "dump", "x")).toEqual([
    2,
    expect.stringContaining("Give the server's store instead"),
  ]);
  expect(await run({ url: "new.db", cwd }, "load", ".")).toEqual([
    2,
    expect.stringContaining("cannot be read"),
  ]);
  expect(await run({ url: "memory:", cwd }, "dump", "x")).toEqual([2, expect.stringContaining("memory:")]);
  expect(await run({ url: "missing.db", cwd }, "dump", "x")).toEqual([
    6,
    expect.stringContaining("There is no file"),
  ]);
  await writeFile(join(cwd, "empty.db"), "");
  expect(await run({ url: "empty.db", cwd }, "dump", "x")).toEqual([6, expect.stringContaining("is empty")]);
  expect(await readdir(cwd)).toEqual(["empty.db"]);
});
