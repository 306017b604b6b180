import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { folderBlobs } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { blobCopiesIn } from "../../src/admin/store-care.ts";
import { openAdmin } from "../../src/admin/create-admin.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { BlobCopies, Blobs } from "../../src/store/blobs.ts";
import { dumpStore, loadStore } from "../../src/store/data-care.ts";
import { encryptedStore, openedStore } from "../../src/store/encrypted-store.ts";
import { placeOfStore, storeFromUrl } from "../../src/store/from-url.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { ann, somePlace } from "../cli/admin/some-place.ts";
import { folder } from "../cli/run-cli.ts";
import { sampleBytes } from "../kit/sample-bytes.ts";

const { signal } = new AbortController();
const keys = [{ id: "k", key: Buffer.alloc(32, 3) }];

/** Several pieces of a store, and two blobs. */
const bytes = Buffer.from(sampleBytes(1_300_000));

interface Where {
  readonly url: string;
  readonly isEncrypted: boolean;
  readonly blobs?: Blobs;
}

/** With `holds`, a handler stops while it stores its second artifact, and ends with the process. */
async function serve({ url, isEncrypted, blobs }: Where, holds = false): Promise<Runtime> {
  const registry = new Registry();
  registry.add("export", { onCrash: "resume" }, async (_, task) => {
    const first = await task.artifact("data.bin", bytes);
    const second = await task.artifact("late.bin", async function* () {
      yield bytes;
      if (holds) await new Promise((_resolve, reject) => task.signal.addEventListener("abort", reject));
    });
    return { content: [first, second] };
  });
  registry.add("small", {}, async (_, task) => ({ content: [await task.artifact("data.bin", bytes)] }));
  const store = isEncrypted ? encryptedStore(storeFromUrl(url), { keys }) : storeFromUrl(url);
  const options = { stopDeadlineMs: 100, crashBackoffMs: 0 };
  const runtime = createRuntime({ store, registry, clock: systemClock, options, blobs });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  return runtime;
}

async function made(runtime: Runtime, tool: string): Promise<string> {
  const call = { ...ann, tool, arguments: {}, origin: { capabilities: {} } };
  return (await runtime.create(call)).task.id;
}

async function ended(runtime: Runtime, id: string): Promise<void> {
  const hasEnded = async (): Promise<boolean> => isTerminal((await runtime.get(id, ann)).task.state);
  await expect.poll(hasEnded, { timeout: 60_000, interval: 50 }).toBe(true);
}

async function isWhole(runtime: Runtime, id: string, name = "data.bin"): Promise<boolean> {
  const part = await runtime.artifact(id, ann, { name, from: 0, bytes: null });
  return part?.data.equals(bytes) === true;
}

const dumped = { since: undefined, now: 0, signal };

it.each([
  ["SQLite", "Postgres", false, false],
  ["SQLite", "Postgres", true, true],
  ["Postgres", "SQLite", true, false],
  ["Postgres", "SQLite", false, true],
] as const)(
  "artifacts survive a dump of %s and a load into %s (encrypted: %s, with blobs: %s)",
  async (from, to, isEncrypted, withBlobs) => {
    const blobs = withBlobs ? folderBlobs(await folder()) : undefined;
    const [a, b] = [await somePlace(from), await somePlace(to)];
    const where = { isEncrypted, ...(blobs && { blobs }) };
    const first = await serve({ ...where, url: a.url }, true);
    const id = await made(first, "export");
    const isThere = async (): Promise<boolean> => (await first.artifacts(id, ann)).length === 1;
    await expect.poll(isThere, { timeout: 60_000, interval: 50 }).toBe(true);
    const piece = async (): Promise<unknown> => first.store.pieces?.read(id, "late.bin", 0);
    await expect.poll(piece, { timeout: 60_000, interval: 50 }).toBeDefined();
    await first.stop();

    const file = join(await folder(), "dump");
    const { withoutFiles } = await dumpStore(
      placeOfStore(a.url, (path) => path),
      file,
      dumped,
    );
    expect(withoutFiles).toBe(withBlobs ? 1 : 0);
    await loadStore(
      placeOfStore(b.url, (path) => path),
      file,
      { beside: false, partial: false, signal },
    );

    const second = await serve({ ...where, url: b.url });
    expect(await isWhole(second, id)).toBe(true);
    await ended(second, id);
    expect(await isWhole(second, id, "late.bin")).toBe(true);
    const listed = await second.artifacts(id, ann);
    expect(listed).toMatchObject([{ name: "data.bin", bytes: bytes.length }, { name: "late.bin" }]);
  },
);

it("a dump with blobs has the files of its tasks, and a load puts them elsewhere", async () => {
  const [from, to] = [await folder(), await folder()];
  const [kept, restored] = [join(from, "blobs"), join(to, "blobs")];
  const place = (root: string) => placeOfStore(`sqlite:${join(root, "tasks.db")}`, (path) => path);
  const first = await serve({
    url: `sqlite:${join(from, "tasks.db")}`,
    isEncrypted: true,
    blobs: folderBlobs(kept),
  });
  const [one, other] = [await made(first, "small"), await made(first, "small")];
  await ended(first, one);
  const whole = join(from, "whole");
  const changes = join(from, "changes");
  await ended(first, other);
  const { withoutFiles } = await dumpStore(place(from), whole, { ...dumped, blobs: blobCopiesIn(kept) });
  expect(withoutFiles).toBe(0);
  const late = await made(first, "small");
  await ended(first, late);
  await first.stop();
  await dumpStore(place(from), changes, { ...dumped, since: whole, blobs: blobCopiesIn(kept) });
  expect((await stat(changes)).size).toBeLessThan((await stat(whole)).size * 0.75);
  await rm(kept, { recursive: true });

  const load = { beside: false, partial: true, signal };
  await expect(loadStore(place(to), whole, load)).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining("--blobs FOLDER") as string,
  });
  await loadStore(place(to), whole, { ...load, blobs: blobCopiesIn(restored) });
  await loadStore(place(to), changes, { ...load, partial: false, blobs: blobCopiesIn(restored) });
  const second = await serve({
    url: `sqlite:${join(to, "tasks.db")}`,
    isEncrypted: true,
    blobs: folderBlobs(restored),
  });
  for (const id of [one, other, late]) expect([id, await isWhole(second, id)]).toEqual([id, true]);
});

it("an operator who names the folder reads the files in it, with the keys of the store", async () => {
  const root = await folder();
  const url = `sqlite:${join(root, "tasks.db")}`;
  const blobs = join(root, "blobs");
  const first = await serve({ url, isEncrypted: true, blobs: folderBlobs(blobs) });
  const id = await made(first, "small");
  await ended(first, id);
  await first.stop();
  const read = async (store: TaskStore, kept?: string): Promise<unknown> => {
    const opened = await openAdmin(store, kept);
    try {
      return (await opened.admin.artifact(id, "data.bin", { from: 10, bytes: 20 })).data;
    } finally {
      await opened.close();
    }
  };
  const open = (): TaskStore => encryptedStore(storeFromUrl(url), { keys });
  expect(await read(open(), blobs)).toBe(bytes.toString("base64", 10, 30));
  await expect(read(open())).rejects.toMatchObject({ code: "configuration" });
  const withoutKeys = openedStore(storeFromUrl(url), undefined);
  await expect(read(withoutKeys, blobs)).rejects.toMatchObject({ code: "task_unreadable" });
  const opened = await openAdmin(openedStore(storeFromUrl(url), undefined));
  expect(await opened.admin.show(id)).toMatchObject({ id, state: "completed", files: [] });
  await opened.close();
});

it("a load writes no blob outside of its folder", async () => {
  const root = await folder();
  const first = await serve({ url: `sqlite:${join(root, "tasks.db")}`, isEncrypted: false });
  await ended(first, await made(first, "small"));
  await first.stop();
  const place = (name: string) => placeOfStore(`sqlite:${join(root, name)}`, (path) => path);
  const blobs: BlobCopies = {
    async *of() {
      yield { name: "../../outside", data: bytes };
    },
    put: () => Promise.reject(new Error("nothing is to be written")),
  };
  const file = join(root, "dump");
  await dumpStore(place("tasks.db"), file, { ...dumped, blobs });
  const load = { beside: true, partial: false, signal, blobs };
  await expect(loadStore(place("new.db"), file, load)).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringContaining("it has no valid blob") as string,
  });
});

it.each([
  ["in the store", false],
  ["in blobs", true],
] as const)(
  "nothing of an artifact is in clear, and one that was moved is unreadable, %s",
  async (_, inBlobs) => {
    const root = await folder();
    const at = join(root, "tasks.db");
    const kept = join(root, "blobs");
    const blobs = inBlobs ? { blobs: folderBlobs(kept) } : {};
    const first = await serve({ url: `sqlite:${at}`, isEncrypted: true, ...blobs });
    const [one, other] = [await made(first, "small"), await made(first, "small")];
    await ended(first, one);
    await ended(first, other);
    await first.stop();

    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.filter((path) => path.startsWith(kept))).toHaveLength(inBlobs ? 4 : 0);
    const sample = bytes.subarray(300, 360);
    const forms = [sample, Buffer.from(sample.toString("base64")), Buffer.from(sample.toString("hex"))];
    for (const path of files) {
      const stored = await readFile(path);
      for (const form of forms) expect([path, stored.indexOf(form)]).toEqual([path, -1]);
    }

    const database = new DatabaseSync(at);
    const set = "UPDATE piece SET body = (SELECT body FROM piece AS theirs WHERE task_id = ? AND seq = 1)";
    if (inBlobs)
      database
        .prepare(
          "UPDATE journal SET value = (SELECT value FROM journal WHERE task_id = ? AND kind = 'artifact') WHERE task_id = ? AND kind = 'artifact'",
        )
        .run(other, one);
    else database.prepare(`${set} WHERE task_id = ? AND seq = 1`).run(other, one);
    database.close();

    const second = await serve({ url: `sqlite:${at}`, isEncrypted: true, ...blobs });
    await expect(isWhole(second, one)).rejects.toMatchObject({ code: "task_unreadable" });
    expect(await isWhole(second, other)).toBe(true);
  },
);

it("a deleted task leaves neither pieces nor blobs", async () => {
  const root = await folder();
  const blobs = folderBlobs(join(root, "blobs"));
  const at = join(root, "tasks.db");
  const kept = async (): Promise<number> =>
    (await readdir(join(root, "blobs"), { recursive: true })).filter((name) => /\.\d+$/.test(name)).length;
  const inStore = await serve({ url: `sqlite:${at}`, isEncrypted: false });
  const old = await made(inStore, "small");
  await ended(inStore, old);
  expect(await inStore.store.pieces?.read(old, "data.bin", 4)).toBeDefined();
  await inStore.delete(old, ann);
  await inStore.stop();

  const first = await serve({ url: `sqlite:${at}`, isEncrypted: false, blobs });
  for (let seq = 0; seq < 5; seq++)
    expect(await first.store.pieces?.read(old, "data.bin", seq)).toBeUndefined();
  const [gone, stays] = [await made(first, "small"), await made(first, "small")];
  await ended(first, gone);
  await ended(first, stays);
  expect(await kept()).toBe(4);
  await first.delete(gone, ann);
  await expect(isWhole(first, gone)).rejects.toMatchObject({ code: "unknown_task" });
  await first.stop();
  const second = await serve({ url: `sqlite:${at}`, isEncrypted: false, blobs });
  await expect.poll(kept, { timeout: 60_000, interval: 50 }).toBe(2);
  expect(await isWhole(second, stays)).toBe(true);
});
