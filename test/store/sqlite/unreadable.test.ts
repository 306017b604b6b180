import { open } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

/** A store of the running tasks a to e, of which b and d were damaged by another program. */
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
  test("is named by recover, which leaves it alone and takes the others", async () => {
    const store = await damagedStore();
    const recovery = await store.write({ type: "recover", now: noon, after: "", limit: 9 });
    expect(recovery).toMatchObject({ recovered: 2, unreadable: [{ id: "task-b" }, { id: "task-d" }] });
    expect(recovery.unreadable[0]?.problem).toMatch(/^Task task-b cannot be read: .+\.$/);
    expect(recovery.unreadable[1]?.problem).toContain("later in the column generation");
    expect(await store.get("task-a")).toMatchObject({ state: "queued", crashes: 1 });
    expect(await store.get("task-c")).toMatchObject({ state: "queued", crashes: 1 });
  });

  test("makes no page shorter than it has to be", async () => {
    const store = await damagedStore();
    const ids = (tasks: readonly { readonly id: string }[]) => tasks.map(({ id }) => id);
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

/** A store of the running tasks a to d, in which `damage` was done to b. */
async function storeWith(damage: string) {
  const before = await files.open();
  for (const name of ["a", "b", "c", "d"]) await before.write(createRunning(name));
  await before.close();
  const db = new DatabaseSync(files.path());
  db.exec(`UPDATE task SET ${damage} WHERE id = 'task-b'`);
  db.close();
  return files.open();
}

describe.each([
  ["a time that no client can be shown", "updated_at = 8640000000000001"],
  ["a number that JavaScript cannot hold", "created_at = 9007199254740993"],
  ["a time that is too late", "sweep_at = 9007199254740993"],
  ["a time that is too early", "sweep_at = -9007199254740993"],
  ["an id that is cut", "id = char(0xfffe) || 'cut'"],
])("a row with %s", (_, damage) => {
  test("is the fault of its task alone in every statement", async () => {
    const store = await storeWith(damage);
    const readable = ["task-a", "task-c", "task-d"];
    const ids = (tasks: readonly { readonly id: string }[]) => tasks.map(({ id }) => id);
    expect(ids(await store.unfinished("", 9))).toEqual(readable);
    const ann = { generation: "2026-07-28", principal: "ann" } as const;
    for (const owner of [ann, { generation: ann.generation }]) {
      expect(ids(await store.list(owner, null, 9, noon))).toEqual(readable.toReversed());
    }
    const due = await store.due(noon + 60_000, 9);
    expect(due.filter((id) => readable.includes(id))).toEqual(readable);
    expect(await store.nextSweepAt(noon)).toBe(noon + 60_000);
    const recovery = await store.write({ type: "recover", now: noon, after: "", limit: 9 });
    expect(recovery).toMatchObject({ recovered: 3, next: null });
    // One that looks expired is met by the sweeper.
    const met = [...recovery.unreadable.map(({ id }) => id), ...(await store.due(noon, 9))];
    expect(met).toHaveLength(1);
    for (const id of readable) await store.write({ type: "cancel", now: noon, id });
    const { deleted } = await store.write({ type: "delete_expired", now: noon + 60_000, limit: 9 });
    expect(deleted).toEqual(readable);
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
  await expect(store.journal("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
  expect(await store.get("task-a")).toMatchObject({ state: "running" });
});
