import assert from "node:assert/strict";
import { assertMembers } from "./assert-members.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

export const recoveryCases = storeCases("recovery", {
  "recover gives every running task back, and only those": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(createQueued("b"));
    await store.write(createRunning("c"));
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    await store.write(createRunning("d"));
    await store.write({ type: "mark", now: noon, id: "task-d", token: "t1", waiting: true });

    const recover = (now: number) => store.write({ type: "recover", now, after: "", limit: 9 });
    assert.deepEqual(await recover(noon + 1), { ok: true, recovered: 2, unreadable: [], next: null });
    assertMembers(await store.get("task-a"), { state: "queued", token: null, crashes: 1, version: 2 });
    assertMembers(await store.get("task-b"), { state: "queued", crashes: 0, version: 1 });
    assertMembers(await store.get("task-c"), { state: "cancelled", version: 2 });
    assertMembers(await store.get("task-d"), { state: "queued", crashes: 0, journalled: true });
    assert.deepEqual(await recover(noon + 2), { ok: true, recovered: 0, unreadable: [], next: null });
  },

  "recover goes through the tasks in pages, by id": async ({ store }) => {
    for (const name of ["c", "a", "e", "d"]) await store.write(createRunning(name));
    await store.write(createQueued("b"));
    const recover = (after: string) => store.write({ type: "recover", now: noon, after, limit: 2 });
    assert.deepEqual(await recover(""), { ok: true, recovered: 1, unreadable: [], next: "task-b" });
    assert.equal((await store.get("task-c"))?.state, "running");
    assert.deepEqual(await recover("task-b"), { ok: true, recovered: 2, unreadable: [], next: "task-d" });
    assert.deepEqual(await recover("task-d"), { ok: true, recovered: 1, unreadable: [], next: null });
    for (const { state } of await store.unfinished("", 9)) assert.equal(state, "queued");
  },

  "recover leaves tasks that have expired as they are, and counts none of them": async ({ store }) => {
    for (const name of ["a", "b"]) await store.write(createRunning(name));
    await store.write(createRunning("c", { expiry: { from: "created", ms: 60_001 } }));
    const recovery = await store.write({ type: "recover", now: noon + 60_000, after: "", limit: 2 });
    assert.deepEqual(recovery, { ok: true, recovered: 1, unreadable: [], next: null });
    assertMembers(await store.get("task-a"), { state: "running", token: "t1", version: 1 });
    assertMembers(await store.get("task-c"), { state: "queued", token: null });
  },

  "unfinished tasks come in pages, by id": async ({ store }) => {
    for (const name of ["e", "b", "d", "a", "c"]) await store.write(createQueued(name));
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    await store.write({ type: "start", now: noon, id: "task-d", token: "t1" });
    const ids = async (after: string, limit: number) =>
      (await store.unfinished(after, limit)).map((task) => task.id);
    assert.deepEqual(await ids("", 2), ["task-a", "task-b"]);
    assert.deepEqual(await ids("task-b", 2), ["task-d", "task-e"]);
    assert.deepEqual(await ids("task-e", 2), []);
    // A page goes on where the last one ended, whether or not that task is still unfinished.
    assert.deepEqual(await ids("task-c", 9), ["task-d", "task-e"]);
    assert.deepEqual((await store.unfinished("task-c", 1))[0], await store.get("task-d"));
  },

  "an attempt that lost its task is fenced off": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "recover", now: noon, after: "", limit: 9 });
    await store.write({ type: "start", now: noon + 1, id: "task-a", token: "t2" });
    const outcome = { kind: "result", body: "{}" } as const;
    const late = await store.write({ type: "settle", now: noon + 2, id: "task-a", token: "t1", outcome });
    assert.deepEqual(late, { ok: false, reason: "fenced" });
    assertMembers(await store.get("task-a"), { state: "running", token: "t2", attempt: 2 });
  },
});
