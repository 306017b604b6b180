import { open, readFile, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { CommandResult } from "../../../src/task/command.ts";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { claim, handlers, ids, park, reclaimAll, wake } from "./queue-steps.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

/** A store of the tasks a to e, of which b and d were damaged by another program; a, b and c ran when its owner ended. */
async function damagedStore() {
  const before = await files.open();
  for (const name of ["a", "b", "c"]) await before.write(createRunning(name));
  for (const name of ["d", "e"]) await before.write(createQueued(name));
  await before.close();
  const db = new DatabaseSync(files.path());
  db.exec("UPDATE task SET progress = '{' WHERE id = 'task-b'");
  db.exec("UPDATE task SET generation = 'later' WHERE id = 'task-d'");
  db.close();
  return files.open();
}

describe("a task whose row cannot be read", () => {
  test("is named by the reclaim that meets it, and left alone while the others are given back", async () => {
    const store = await damagedStore();
    const [reclaim, ...others] = await reclaimAll(store);
    expect(reclaim).toMatchObject({ reclaimed: 2, unreadable: [{ id: "task-b" }], next: null });
    expect(others).toEqual([]);
    expect(JSON.stringify(reclaim)).toMatch(/"Task task-b cannot be read: .+\."/);
    for (const id of ["task-a", "task-c"]) {
      expect(await store.get(id)).toMatchObject({ state: "queued", owner: null, crashes: 1 });
    }
  });

  test("is named at each start while it runs, and what else its owner left is not given back twice", async () => {
    const first = await damagedStore();
    await reclaimAll(first);
    const store = await files.open();
    const again = {
      ok: true,
      reclaimed: 0,
      unreadable: [expect.objectContaining({ id: "task-b" })],
      next: null,
    };
    expect(await reclaimAll(store)).toEqual([again]);
    await first.close();
    expect(await reclaimAll(store)).toContainEqual(again);
    expect(await store.get("task-a")).toMatchObject({ crashes: 1 });
  });

  test("is named at the next start, too, where the reclaim took several pages and it was on none of the last", async () => {
    const first = await damagedStore();
    const [owner = ""] = (await first.renew()).gone;
    const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };
    const page = { type: "reclaim", now: noon, owner, limit: 1, backoff } as const;
    const unreadable: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const reclaim: CommandResult<"reclaim"> = await first.write<"reclaim">({ ...page, after });
      if (!reclaim.ok) throw new Error(reclaim.reason);
      unreadable.push(...ids(reclaim.unreadable));
      after = reclaim.next;
    }
    expect(unreadable).toEqual(["task-b"]);
    const store = await files.open();
    expect(await reclaimAll(store)).toMatchObject([{ reclaimed: 0, unreadable: [{ id: "task-b" }] }]);
    // As soon as it can be read, it is given back, and nobody is named any more.
    const db = new DatabaseSync(files.path(), { timeout: 20_000 });
    db.exec("UPDATE task SET progress = NULL WHERE id = 'task-b'");
    db.close();
    expect(await reclaimAll(store)).toMatchObject([{ reclaimed: 1, unreadable: [] }]);
    expect((await store.renew()).gone).toEqual([]);
  });

  test("is named by claims while it is queued, which take the others, and nobody looks for it again", async () => {
    const store = await damagedStore();
    await reclaimAll(store);
    const { tasks, unreadable } = await claim(store);
    expect(ids(tasks)).toEqual(["task-e", "task-a", "task-c"]);
    expect(ids(unreadable)).toEqual(["task-d"]);
    expect(unreadable[0]?.problem).toContain("The column generation contains later");
    expect(await store.hasClaimable(handlers)).toBe(false);
    expect(await claim(store)).toMatchObject({ tasks: [], unreadable: [{ id: "task-d" }] });
  });

  test("makes no page shorter than it has to be", async () => {
    const store = await damagedStore();
    expect(ids(await store.unfinished("", 2))).toEqual(["task-a", "task-c"]);
    expect(ids(await store.unfinished("task-c", 2))).toEqual(["task-e"]);
    const ann = { generation: "2026-07-28", principal: "ann" } as const;
    expect(ids(await store.list(ann, null, 2, noon))).toEqual(["task-e", "task-c"]);
    expect(ids(await store.list(ann, "task-c", 2, noon))).toEqual(["task-a"]);
  });

  test("is a fault for who asks for it, and no other task of its group is", async () => {
    const store = await damagedStore();
    await expect(store.get("task-b")).rejects.toMatchObject({ code: "task_unreadable" });
    const [broken, fine] = await Promise.allSettled([
      store.write({ type: "cancel", now: noon, id: "task-b" }),
      store.write({ type: "cancel", now: noon, id: "task-a" }),
    ]);
    expect(broken).toMatchObject({ status: "rejected", reason: { code: "task_unreadable" } });
    expect(fine).toMatchObject({ status: "fulfilled", value: { ok: true } });
  });
});

/** A store of the tasks a to d, in which `damage` was done to b; `parked`: each sleeps until a second after noon. */
async function storeWith(damage: string, create: typeof createRunning, parked = false) {
  const kind = `${create.name} ${String(parked)}`;
  whole.set(kind, whole.get(kind) ?? (await wholeStore(create, parked)));
  await writeFile(files.path(), whole.get(kind) ?? "");
  const db = new DatabaseSync(files.path());
  db.exec(`UPDATE task SET ${damage} WHERE id = 'task-b'`);
  db.close();
  return files.open();
}

/** The undamaged files, by what is in them: to copy one is faster than to write it anew for each test. */
const whole = new Map<string, Buffer>();

async function wholeStore(create: typeof createRunning, parked: boolean): Promise<Buffer> {
  const before = await files.open();
  for (const name of ["a", "b", "c", "d"]) {
    await before.write(create(name));
    if (parked) await park(before, name, noon + 1_000);
  }
  await before.close();
  return readFile(files.path());
}

describe.each([
  ["a time that no client can be shown", "updated_at = 8640000000000001"],
  ["a number that JavaScript cannot hold", "created_at = 9007199254740993"],
  ["a time that is too late", "sweep_at = 9007199254740993"],
  ["a time that is too early", "sweep_at = -9007199254740993"],
  ["a start that is too late", "run_after = 9007199254740993"],
  ["a start that is too early", "run_after = -9007199254740993"],
  ["an id that is cut", "id = char(0xfffe) || 'cut'"],
])("a row with %s", (_, damage) => {
  const readable = ["task-a", "task-c", "task-d"];

  test("is the fault of its task alone in every statement", async () => {
    const store = await storeWith(damage, createRunning);
    expect(ids(await store.unfinished("", 9))).toEqual(readable);
    const ann = { generation: "2026-07-28", principal: "ann" } as const;
    for (const owner of [ann, { generation: ann.generation }]) {
      expect(ids(await store.list(owner, null, 9, noon))).toEqual(readable.toReversed());
    }
    const due = await store.due(noon + 60_000, 9);
    expect(due.filter((id) => readable.includes(id))).toEqual(readable);
    expect(await store.nextSweepAt(noon)).toBe(noon + 60_000);
    const reclaims = await reclaimAll(store);
    expect(reclaims).toMatchObject([{ reclaimed: 3, next: null }]);
    // One that looks expired is met by the sweeper.
    const unreadable = reclaims.flatMap((reclaim) => (reclaim.ok ? ids(reclaim.unreadable) : []));
    const met = [...unreadable, ...(await store.due(noon, 9))];
    expect(met).toHaveLength(1);
    for (const id of readable) await store.write({ type: "cancel", now: noon, id });
    const { deleted } = await store.write({ type: "delete_expired", now: noon + 60_000, limit: 9 });
    expect(deleted).toEqual(readable);
  });

  test("is passed over by claims of the others", async () => {
    const store = await storeWith(damage, createQueued);
    await reclaimAll(store);
    const { tasks, unreadable } = await claim(store);
    expect(ids(tasks)).toEqual(readable);
    expect(unreadable).toHaveLength(1);
    expect(await store.hasClaimable(handlers)).toBe(false);
    for (const id of readable) expect(await store.get(id)).toMatchObject({ state: "running" });
  });

  test("is passed over when the others are woken, and keeps nobody from finding their time", async () => {
    const store = await storeWith(damage, createRunning, true);
    expect(await store.nextSweepAt(noon)).toBe(noon + 1_000);
    const { woken, unreadable } = await wake(store);
    expect(woken).toBe(3);
    // One that looks as if it waited for ever is met by nobody before its time.
    expect(unreadable).toHaveLength(damage === "run_after = 9007199254740993" ? 0 : 1);
    const { tasks } = await claim(store);
    expect(ids(tasks)).toEqual(readable);
    expect(await wake(store)).toMatchObject({ woken: 0, unreadable });
  });
});

test("a page of the journal that was overwritten is a fault of the tasks that are read from it", async () => {
  const before = await files.open();
  await before.write(createRunning("a"));
  const token = (await before.get("task-a"))?.token ?? "";
  const step = {
    type: "record_step",
    now: noon,
    id: "task-a",
    token,
    key: "s",
    value: "1",
    error: null,
  } as const;
  await before.write(step);
  await before.close();
  const db = new DatabaseSync(files.path());
  const { page_size: size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  const find = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'");
  const { rootpage } = find.get() as { rootpage: number };
  db.close();
  const file = await open(files.path(), "r+");
  await file.write(new Uint8Array(size), 0, size, (rootpage - 1) * size);
  await file.close();
  const store = await files.open();
  await expect(store.journal("task-a", "", 9)).rejects.toMatchObject({ code: "task_unreadable" });
  expect(await store.get("task-a")).toMatchObject({ state: "running" });
});

test.each([
  "handlers = 'x'",
  "handlers = '[null, 1]'",
  "host = char(0xfffe) || 'cut'",
  "pid = 9007199254740993",
])(
  "an owner that is stored with %s keeps nobody from working, nor from being told who is in the way",
  async (damage) => {
    const [store, other] = [await files.open("tasks.db", { busyTimeoutMs: 1 }), await files.open()];
    const db = new DatabaseSync(files.path(), { timeout: 20_000 });
    db.exec(`UPDATE owner SET ${damage}`);
    await store.write(createQueued("a"));
    expect(await claim(store)).toMatchObject({ tasks: [{ id: "task-a" }] });
    expect(await store.renew()).toEqual({ held: true, gone: [], others: 1 });
    db.exec("BEGIN IMMEDIATE");
    for (let round = 0; round < 2; round++) {
      await expect(store.write(createQueued("b"))).rejects.toThrow("is locked by another program");
    }
    db.exec("ROLLBACK");
    db.close();
    expect(await store.write(createQueued("b"))).toMatchObject({ ok: true });
    await other.close();
  },
);
