import { describe, expect, test } from "vitest";
import { type MemoryDatabase, memoryDatabase, memoryStore } from "../../../src/store/sqlite/memory-store.ts";
import { encryptedStore, openedStore } from "../../../src/store/encrypted-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { createQueued, createRunning, noon } from "../../../src/testing/sample-task.ts";

const k1 = { id: "k1", key: Buffer.alloc(32, 1) };
const k2 = { id: "k2", key: Buffer.alloc(32, 2) };
const k3 = { id: "k3", key: Buffer.alloc(32, 3) };

let owners = 0;
async function opened(store: TaskStore): Promise<TaskStore> {
  await store.open({ id: `owner-${++owners}`, handlers: [] });
  return store;
}
const withKeys = (database: MemoryDatabase, ...keys: (typeof k1)[]) =>
  opened(encryptedStore(memoryStore(database), { keys }));
const inClear = (database: MemoryDatabase) => opened(memoryStore(database));

const secretOf = async (store: TaskStore, value: string | null = "new") =>
  (await store.write<"keep_secret">({ type: "keep_secret", now: noon, name: "one", value })).value;

const given = {
  origin: { capabilities: {}, caller: { clientId: "app" } },
  arguments: '{"a":1}',
  prepared: null,
};
const running = (name: string) => ({ ...createRunning(name), request: given });
const held = { now: noon + 1, id: "task-a", token: "t1" } as const;

describe("keys that change", () => {
  test("what the old key has sealed is read, and the new one seals", async () => {
    const database = memoryDatabase();
    const before = await withKeys(database, k1);
    await before.write(running("a"));
    const both = await withKeys(database, k2, k1);
    await both.write({ type: "record_step", ...held, key: "s", value: '"v"', error: null });
    expect(await both.request("task-a")).toEqual(given);
    const raw = await opened(openedStore(memoryStore(database), undefined));
    expect((await raw.request("task-a"))?.arguments).toMatch(/^enc2:k1:/);
    expect((await raw.journalEntry("task-a", "s"))?.value).toMatch(/^enc2:k2:/);
    // A process that is not restarted yet has the new key at the end of its list.
    const late = await withKeys(database, k1, k2);
    expect(await late.journalEntry("task-a", "s")).toMatchObject({ value: '"v"' });
  });

  test("secrets are the same through every change, in any order of keys", async () => {
    const database = memoryDatabase();
    const first = await withKeys(database, k1);
    expect(await secretOf(first, "old")).toBe("old");
    for (const keys of [[k1, k2], [k2, k1], [k2], [k2, k3], [k3, k2], [k3]]) {
      const store = await withKeys(database, ...keys);
      expect(await secretOf(store)).toBe("old");
    }
    const lost = await withKeys(database, { id: "k9", key: Buffer.alloc(32, 9) });
    expect(await secretOf(lost, null)).toBeNull();
    expect(await secretOf(lost)).toBe("new");
    expect(await secretOf(lost, "later")).toBe("new");
    expect(await secretOf(await withKeys(database, k3))).toBe("old");
  });

  test("of two processes that keep a secret at the same time, with their keys in another order, both have the same", async () => {
    const database = memoryDatabase();
    const stores = await Promise.all([withKeys(database, k1, k2), withKeys(database, k2, k1)]);
    const kept = await Promise.all(stores.map((store, index) => secretOf(store, `of ${index}`)));
    expect(new Set(kept).size).toBe(1);
  });
});

describe("a key that is lost", () => {
  async function lost(): Promise<TaskStore> {
    const database = memoryDatabase();
    const before = await withKeys(database, k1);
    await before.write(running("a"));
    await before.write({ type: "record_step", ...held, key: "s", value: '"v"', error: null });
    await before.write({ type: "update", ...held, changes: { statusMessage: "half" } });
    await before.write({ type: "retry", ...held, until: noon + 2, statusMessage: "went wrong" });
    await before.sessions?.put(
      { id: "session", principal: null, expiresAt: noon, state: "{}" },
      { ofPrincipal: 9, total: 9 },
    );
    return withKeys(database, k2);
  }

  test("bodies of its tasks are unreadable, and say by which key", async () => {
    const store = await lost();
    const unreadable = expect.objectContaining({
      code: "task_unreadable",
      message:
        'Task task-a cannot be read: it is encrypted with the key "k1", which this process does not have.',
    });
    await expect(store.request("task-a")).rejects.toEqual(unreadable);
    await expect(store.journalEntry("task-a", "s")).rejects.toEqual(unreadable);
    await expect(store.journalEnds("task-a", ["s"])).rejects.toEqual(unreadable);
  });

  test("its tasks are listed and can be ended, and others go on", async () => {
    const store = await lost();
    const words = "(encrypted with a missing key)";
    expect(await store.get("task-a")).toMatchObject({ statusMessage: words, attempts: [{ error: words }] });
    expect(await store.unfinished("", 9)).toHaveLength(1);
    expect((await store.journal("task-a", "", 9)).entries).toHaveLength(1);
    await store.write(createQueued("b"));
    expect(await store.request("task-b")).toBeDefined();
    const outcome = { kind: "error", body: "{}" } as const;
    const ended = await store.write({
      type: "fail",
      now: noon,
      id: "task-a",
      outcome,
      statusMessage: "lost",
    });
    expect(ended).toMatchObject({ ok: true, task: { statusMessage: "lost" } });
    expect(await store.snapshot("task-a")).toMatchObject({ outcome });
  });

  test("a session is as good as none", async () => {
    expect(await (await lost()).sessions?.get("session")).toBeUndefined();
  });
});

describe("an encrypted store", () => {
  const encrypted = expect.objectContaining({
    code: "store_unusable",
    message: expect.stringContaining("HOLDFAST_ENCRYPTION_KEYS") as string,
  });

  test("does not open without keys", async () => {
    const database = memoryDatabase();
    await (await withKeys(database, k1)).close();
    await expect(inClear(database)).rejects.toEqual(encrypted);
    expect(await (await withKeys(database, k1)).get("task-a")).toBeUndefined();
  });

  test("refuses texts in clear, if it was encrypted before its first task", async () => {
    const database = memoryDatabase();
    const late = await inClear(database);
    const store = await withKeys(database, k1);
    await late.write(running("a")); // by a process without keys, until it notices
    await expect(store.request("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
    await expect(store.get("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
    expect(await store.unfinished("", 9)).toEqual([]);
  });

  test("stops a process without keys at its next renewal", async () => {
    const database = memoryDatabase();
    const plain = await inClear(database);
    expect(await plain.renew()).toMatchObject({ held: true });
    const store = await withKeys(database, k1);
    expect(await plain.renew()).toMatchObject({ held: false, lost: { code: "store_lost" } });
    await expect(plain.write(running("a"))).rejects.toMatchObject({ code: "store_lost" });
    expect(await store.renew()).toMatchObject({ held: true });
  });

  test("is strict whatever is put in place of the secret that shows which keys belong to it", async () => {
    const database = memoryDatabase();
    const plain = await inClear(database);
    const forged = {
      type: "keep_secret",
      now: noon,
      name: "holdfast/encryption",
      value: '{"strict":false}',
    } as const;
    await plain.write<"keep_secret">(forged);
    const store = await withKeys(database, k1);
    await plain.write(running("a"));
    await expect(store.get("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
  });
});

test("a store that has tasks in clear does not open with keys, and says what to do", async () => {
  const database = memoryDatabase();
  const before = await inClear(database);
  await before.write(running("a"));
  await expect(withKeys(database, k1)).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringContaining("holdfast admin STORE reseal") as string,
  });
  expect(await before.renew()).toMatchObject({ held: true });
  expect(await before.request("task-a")).toEqual(given);
});

test("the reason of an attempt is cut as in every store, and can be opened", async () => {
  const store = await withKeys(memoryDatabase(), k1);
  await store.write(running("a"));
  const statusMessage = "long ".repeat(1_000);
  await store.write({ type: "retry", ...held, until: noon + 2, statusMessage });
  const task = await store.get("task-a");
  expect(task?.statusMessage).toBe(statusMessage);
  expect(task?.attempts[0]?.error).toBe(`${statusMessage.slice(0, 499)}…`);
});
