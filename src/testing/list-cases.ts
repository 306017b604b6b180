import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { NewTask } from "../task/new-task.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

const ann = { generation: "2026-07-28", principal: "ann" } as const;

async function create(store: TaskStore, each: string, members: Partial<NewTask> = {}): Promise<void> {
  for (const name of each) await store.write(createQueued(name, members));
}

/** The names of the tasks in a list, in its order. */
async function names(
  store: TaskStore,
  owner: Parameters<TaskStore["list"]>[0],
  { before = null, limit = 99, now = noon }: { before?: string | null; limit?: number; now?: number } = {},
): Promise<string> {
  const tasks = await store.list(owner, before, limit, now);
  return tasks.map(({ id }) => id.replace("task-", "")).join("");
}

export const listCases = storeCases("list", {
  "an owner's tasks come newest first, finished or not, as they are read": async ({ store }) => {
    await create(store, "bda");
    await store.write(createRunning("c"));
    const outcome = { kind: "error_result", body: "{}" } as const;
    await store.write({ type: "settle", now: noon, id: "task-c", token: "t1", outcome });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    assert.equal(await names(store, ann), "dcba");
    assert.deepEqual((await store.list(ann, "task-d", 1, noon))[0], await store.get("task-c"));
  },

  "nobody else's tasks, and none of another generation": async ({ store }) => {
    await create(store, "a");
    await create(store, "b", { principal: "bob" });
    await create(store, "c", { principal: null });
    await create(store, "d", { principal: "" });
    await create(store, "e", { generation: "2025-11-25" });
    await create(store, "f", { principal: null, generation: "2025-11-25" });
    assert.equal(await names(store, ann), "a");
    assert.equal(await names(store, { ...ann, principal: null }), "c");
    assert.equal(await names(store, { ...ann, principal: "" }), "d");
    assert.equal(await names(store, { ...ann, generation: "2025-11-25" }), "e");
    assert.equal(await names(store, { generation: "2025-11-25", principal: null }), "f");
    assert.equal(await names(store, { generation: "sep-1686", principal: "ann" }), "");
  },

  "without a principal: the tasks of all of them": async ({ store }) => {
    await create(store, "bd");
    await create(store, "ac", { principal: null });
    await create(store, "e", { generation: "2025-11-25" });
    const { generation } = ann;
    assert.equal(await names(store, { generation }), "dcba");
    assert.equal(await names(store, { generation }, { before: "task-d", limit: 2 }), "cb");
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    assert.equal(await names(store, { generation }, { now: noon + 60_000, limit: 3 }), "dba");
    await store.write({ type: "delete_expired", now: noon + 60_000, limit: 9 });
    assert.equal(await names(store, { generation }), "dba");
  },

  "with a scope: the tasks in it, of one principal or of all": async ({ store }) => {
    await create(store, "ae");
    await create(store, "bd", { scope: "s\u0000" });
    await create(store, "c", { scope: "s\u0000", principal: null });
    await create(store, "f", { scope: "s" });
    await create(store, "g", { scope: "s\u0000", generation: "sep-1686" });
    const { generation } = ann;
    assert.equal(await names(store, { ...ann, scope: "s\u0000" }), "db");
    assert.equal(await names(store, { generation, scope: "s\u0000" }), "dcb");
    assert.equal(await names(store, { generation, scope: "s\u0000", principal: null }), "c");
    assert.equal(await names(store, { generation, scope: "s\u0000" }, { before: "task-d", limit: 1 }), "c");
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    assert.equal(await names(store, { generation, scope: "s\u0000" }, { now: noon + 60_000 }), "db");
    assert.equal(await names(store, { ...ann, scope: "t" }), "");
    assert.equal(await names(store, ann), "fedba");
  },

  "a page goes on below the last one, whether or not that task is still there": async ({ store }) => {
    await create(store, "abcefg");
    assert.equal(await names(store, ann, { limit: 2 }), "gf");
    assert.equal(await names(store, ann, { before: "task-f", limit: 2 }), "ec");
    assert.equal(await names(store, ann, { before: "task-d", limit: 2 }), "cb");
    assert.equal(await names(store, ann, { before: "task-b", limit: 2 }), "a");
    assert.equal(await names(store, ann, { before: "task-a", limit: 2 }), "");
    assert.equal(await names(store, ann, { before: "zzz", limit: 1 }), "g");
    assert.equal(await names(store, ann, { limit: 0 }), "");
  },

  "what is over is left out, and makes no page shorter": async ({ store }) => {
    await create(store, "ad");
    await create(store, "bcef", { expiry: { from: "created", ms: 10 } });
    await create(store, "g", { expiry: { from: "created", ms: null } });
    for (const name of "bcfg") await store.write({ type: "cancel", now: noon, id: `task-${name}` });
    assert.equal(await names(store, ann, { now: noon + 9 }), "gfedcba");
    // An unfinished task has not expired: it still has to be ended.
    assert.equal(await names(store, ann, { now: noon + 10 }), "geda");
    assert.equal(await names(store, ann, { now: noon + 10, limit: 2 }), "ge");
    assert.equal(await names(store, ann, { now: noon + 10, before: "task-e", limit: 2 }), "da");
    assert.equal(await names(store, ann, { now: noon + 10, before: "task-d", limit: 1 }), "a");
  },

  "deleted tasks leave the list, and their ids can come back": async ({ store }) => {
    await create(store, "ab", { expiry: { from: "created", ms: 10 } });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 9 });
    assert.equal(await names(store, ann), "b");
    await create(store, "a", { principal: "bob" });
    assert.equal(await names(store, ann), "b");
    assert.equal(await names(store, { ...ann, principal: "bob" }), "a");
  },

  "pages reach every one of many tasks, once": async ({ store }) => {
    const created = Array.from({ length: 700 }, (_, index) => `task-${String(index).padStart(4, "0")}`);
    await Promise.all(created.map((id) => store.write(createQueued(id.slice(5)))));
    await store.write(createQueued("0350x", { principal: "bob" }));
    const found: string[] = [];
    // A store that starts again after each page would never end.
    for (let before: string | null = null; found.length <= created.length; before = found.at(-1) ?? null) {
      const page: readonly { readonly id: string }[] = await store.list(ann, before, 90, noon);
      found.push(...page.map(({ id }) => id));
      if (page.length < 90) break;
    }
    assert.deepEqual(found, created.reverse());
  },
});
