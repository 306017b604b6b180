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
